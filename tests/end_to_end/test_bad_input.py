"""What can be wrong with a program or a call: one clear sentence each, and nothing is touched."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cache.disk import Disk

I = ff.Dimension("I")
J = ff.Dimension("J")
Line = ff.Field[ff.Dims[I], ff.float64]
Line32 = ff.Field[ff.Dims[I], ff.float32]


@ff.field_operator
def doubled(u: Line) -> Line:
    return u + u


@pytest.fixture
def store(tmp_path):
    events = []
    disk = Disk(tmp_path / "cache", on_event=lambda name, **facts: events.append((name, facts)))
    with ff.using(ff.Engine(disk)):
        yield disk, events


def line_of(text: str) -> int:
    """The number of the line in this file that holds `text`."""
    lines = linecache.getlines(__file__)
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_dtype_mismatch_points_at_the_operation():
    with pytest.raises(
        ff.errors.DSLTypeError, match=r"Could not promote .*float64.*float32"
    ) as caught:

        @ff.field_operator
        def mixed(u: Line, v: Line32) -> Line:
            return u * v  # a dtype mismatch

    assert caught.value.location.line == line_of("u * v  # a dtype mismatch")
    assert caught.value.location.file == __file__


def test_an_undefined_name_is_named_with_the_nearest_one():
    with pytest.raises(ff.errors.UndefinedSymbolError, match="'coef'") as caught:

        @ff.field_operator
        def scaled(u: Line, coeff: ff.float64) -> Line:
            return coef * u  # noqa: F821

    assert "coeff" in str(caught.value)
    assert caught.value.location.line == line_of("return coef * u")


def test_a_for_loop_is_refused_where_it_stands():
    with pytest.raises(ff.errors.UnsupportedPythonFeatureError, match="for") as caught:

        @ff.field_operator
        def looped(u: Line) -> Line:
            for _ in range(3):  # a loop
                u = u + u
            return u

    assert caught.value.location.line == line_of("in range(3):  # a loop")


@pytest.mark.parametrize(
    "backend", [None, ff.reference, ff.cpu], ids=["embedded", "reference", "cpu"]
)
def test_a_missing_out_is_asked_for(backend):
    with pytest.raises(ff.errors.MissingArgumentError, match="Expected keyword-argument 'out'"):
        doubled.with_backend(backend)(ff.ones({I: 3}))


@pytest.mark.needs_compiler
@pytest.mark.parametrize("backend", [ff.reference, ff.cpu], ids=["reference", "cpu"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: ff.ones({I: 3}, dtype=np.float32), r"'u' .*Field\[\[I\], float64\].*float32"),
        (lambda: ff.ones({J: 3}), r"'u' .*Field\[\[I\], float64\].*\[\[J\]"),
        (lambda: 1.0, r"'u' .*Field\[\[I\], float64\].*float64"),
    ],
)
def test_a_wrong_type_at_the_call_names_expected_and_got(backend, given, words):
    out = ff.zeros({I: 3})

    with pytest.raises(ff.errors.ArgumentError, match=words):
        doubled.with_backend(backend)(given(), out=out)

    assert not out.asnumpy().any()


@pytest.mark.needs_compiler
def test_a_field_that_is_too_small_is_refused_before_anything_is_read():
    out = ff.full({I: 5}, -1.0)

    with pytest.raises(ff.errors.DomainError, match=r"'u' is too small: along 'I' .*0:5.*0:4"):
        doubled.with_backend(ff.cpu)(ff.ones({I: 4}), out=out)

    assert (out.asnumpy() == -1.0).all()


@pytest.mark.needs_compiler
def test_a_field_on_another_device_is_refused_by_name():
    from fieldforge.runtime import _core

    out = ff.zeros({I: 3})
    on_gpu = _core.FieldView.from_parts(
        out.pointer, (3,), (8,), "float64", 2, 0, None, dims=(I,), starts=(0,)
    )

    with pytest.raises(ff.errors.DeviceError, match="'u' lies on device CUDA:0"):
        doubled.with_backend(ff.cpu)(on_gpu, out=out)


def test_an_unknown_backend_option_names_the_nearest():
    with pytest.raises(ff.errors.OptionError, match="no option 'numeric'") as caught:
        ff.cpu.with_options(numeric="strict")

    assert "'numerics'" in str(caught.value)


def test_without_a_compiler_the_hint_says_how_to_get_one(store):
    program = doubled.with_backend(ff.recipes.cpu(cxx="no-such-compiler"))

    with pytest.raises(ff.errors.CompilerNotFoundError, match="'no-such-compiler'") as caught:
        program(ff.ones({I: 3}), out=ff.zeros({I: 3}))

    assert "Hint:" in str(caught.value)


@pytest.mark.needs_compiler
def test_a_compiler_that_fails_shows_command_exit_code_and_log(store, tmp_path):
    broken = ff.recipes.cpu(flags=("-fno-such-flag",), directory=tmp_path)

    with pytest.raises(ff.errors.CompilationError, match="failed with exit code 1") as caught:
        doubled.with_backend(broken)(ff.ones({I: 3}), out=ff.zeros({I: 3}))

    assert "-fno-such-flag" in str(caught.value)
    [log] = (tmp_path / "log").iterdir()
    assert "-fno-such-flag" in log.read_text()


@pytest.mark.needs_compiler
@pytest.mark.parametrize("damage", ["truncate", "flip", "delete", "unreadable"])
def test_a_damaged_store_entry_is_rebuilt_and_reported(store, damage):
    disk, events = store
    out = ff.zeros({I: 3})
    doubled.with_backend(ff.cpu)(ff.ones({I: 3}), out=out)
    kept = [
        file
        for part in ("act", "cas")
        for file in (disk.path / "v1" / part).rglob("*")
        if file.is_file()
    ]
    for file in kept:
        spoil(file, damage)
    out[...] = 0.0

    with ff.using(ff.Engine(disk)):
        doubled.with_backend(ff.cpu)(ff.ones({I: 3}), out=out)

    assert (out.asnumpy() == 2.0).all()
    if damage in ("truncate", "flip"):
        assert "store.corrupt" in {name for name, _ in events}
        assert list((disk.path / "v1" / "bad").iterdir())
    events.clear()
    with ff.using(ff.Engine(disk)):
        again = doubled.with_backend(ff.cpu).trace()
    assert {step.outcome for step in again.values() if step.key} == {"disk"}
    assert not events


def spoil(file, damage):
    content = file.read_bytes()
    file.chmod(0o600)
    if damage == "truncate":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif damage == "delete":
        file.unlink()
    else:
        file.unlink()
        file.mkdir()
