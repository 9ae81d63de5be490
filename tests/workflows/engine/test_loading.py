"""A stored library that does not load is compiled again, once."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.cache.store import keep_result
from fieldforge.runtime.calls import loader
from fieldforge.runtime.process.errors import LibraryError
from fieldforge.workflows.engine.events import Finished, Warned

I = ff.Dimension("I")
pytestmark = pytest.mark.needs_compiler


@ff.field_operator(backend=None)
def twice(u: ff.Field[[I], ff.float64]) -> ff.Field[[I], ff.float64]:
    return u + u


def call(store: Disk) -> list[object]:
    """Run the program with a fresh engine over a store; return what was told."""
    told: list[object] = []
    out = ff.zeros({I: 3})
    with ff.using(ff.Engine(store, observers=[told.append])):
        twice.with_backend(ff.recipes.cpu())(ff.ones({I: 3}), out=out, offset_provider={})
    assert np.array_equal(out.asnumpy(), [2.0, 2.0, 2.0])
    return told


def compiled(told: list[object]) -> int:
    return sum(isinstance(event, Finished) and event.stage == "compile" for event in told)


def spoil(store: Disk, change: Callable[[bytes], bytes]) -> None:
    """Keep every library of a store changed, under its key and with fresh digests."""
    for record in list(store.records()):
        outputs = {}
        for output in record.outputs:
            files = dict(store.read(record, output.port) or {})
            if "library.so" in files:
                files["library.so"] = change(files["library.so"])
            outputs[output.port] = files
        keep_result(store,
            record.key, stage=record.stage, program=record.program,
            components=dict(record.components), outputs=outputs,
        )  # fmt: skip


CHANGES = {
    "cut": lambda library: library[:-4096],
    "of another machine": lambda library: library[:18] + b"\xff\xff" + library[20:],
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs ELF files")
@pytest.mark.parametrize("change", CHANGES)
def test_a_library_that_does_not_load_is_dropped_and_built_again_once(tmp_path: Path, change: str):
    assert compiled(call(Disk(tmp_path))) == 1
    spoil(Disk(tmp_path), CHANGES[change])

    told = call(Disk(tmp_path))

    assert compiled(told) == 1
    (warning,) = [event for event in told if isinstance(event, Warned)]
    assert "compiled again, because it does not load" in warning.message
    assert compiled(call(Disk(tmp_path))) == 0


def test_a_library_that_never_loads_is_an_error_after_one_more_build(tmp_path: Path, monkeypatch):
    def refuse(*_: object) -> None:
        raise LibraryError("The library cannot be loaded: no.")

    monkeypatch.setattr(loader, "_load", refuse)
    told: list[object] = []
    out = ff.zeros({I: 3})
    with (
        ff.using(ff.Engine(Disk(tmp_path), observers=[told.append])),
        pytest.raises(LibraryError, match=r"cannot be loaded: no\."),
    ):
        twice.with_backend(ff.recipes.cpu())(ff.ones({I: 3}), out=out, offset_provider={})
    assert compiled(told) == 2
