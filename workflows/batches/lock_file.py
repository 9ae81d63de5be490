"""Lock files: every variant that a model builds, for other machines to build, check, compare.

Reading one imports nothing. `Locked.order` imports the programs and passes that a row names, from
modules or from files below the lock file's folder; options are set as `from_files` allows.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import attrs

from ...runtime.process import FieldforgeError, classes
from ...runtime.process.shapes import (
    ShapeError,
    anything,
    list_of,
    mapping,
    number,
    one_of,
    read_json,
    row,
    table,
    text,
    truth,
    whole,
)
from ...stages.artifacts import Variant
from ..backends.backend import BACKENDS, Backend
from ..backends.recipes import registry
from ..builds.order import Order
from ..engine.engine import engine
from ..entries.entry_point import EntryPoint, entry_of
from ..graph import text as graph_text
from ..graph.function_stage import FunctionStage
from ..graph.graph import Workflow
from ..options.from_files import check_stage
from ..variants.dry_run import Asked, recording
from .addresses import address_of, find_inside

FORMAT: Final = 1
_VARIANT: Final = table(
    tuple(field.name for field in attrs.fields(Variant)),
    unit=list_of(row(text, text)),
    static=list_of(row(text, text)),
    domain=truth,
    tables=list_of(row(text, whole, truth)),
    alike=list_of(list_of(text)),
    ranges=list_of(row(text, text, whole, whole)),
    beyond=truth,
)
_ROW: Final = table(
    ("passes", "key", "seconds", "grid_type", "types"),
    program=text, backend=text, workflow=text, passes=mapping(text), variant=_VARIANT, key=text,
    seconds=number, grid_type=one_of("cartesian", "unstructured"), types=list_of(text),
)  # fmt: skip
_FILE: Final = table(format=one_of(FORMAT), programs=list_of(_ROW))


class LockFileError(FieldforgeError, ValueError):
    """A lock file cannot be read, or names a program that does not exist."""


@classes.frozen
class Locked:
    """One variant: the program's address, backend and workflow as text, and the key it had.

    `grid_type` is the kind of grid given to the decorator or `with_grid_type`; None means that it
    is deduced. `types` are those of the variables of a generic operator.
    """

    program: str
    backend: str
    workflow: str
    passes: Mapping[str, str]
    variant: Variant
    key: str | None = None
    seconds: float | None = None
    grid_type: str | None = None
    types: tuple[str, ...] = ()

    @property
    def label(self) -> tuple[str, ...]:
        """The identity of the row, apart from how it is built."""
        return self.program, self.backend, self.variant.text, self.grid_type or "", *self.types

    def order(self, folder: str = ".") -> Order:
        """Find the program and return the order for this variant.

        Raises:
            FieldforgeError: the row names what is not there, or what a file may not name or set.

        """
        entry = entry_of(find_inside(self.program, folder))
        if not isinstance(entry, EntryPoint):
            raise LockFileError(f"'{self.program}' is not a program or operator.")
        instance = entry.instances.get(self.types)
        if instance is None:
            shown = ", ".join(self.types) or "no types"
            raise LockFileError(f"'{self.program}' has no instance for {shown}.")
        passes = {name: _pass(address, folder) for name, address in self.passes.items()}
        flow = Workflow.parse(self.workflow, {**registry(), **passes})
        for name, stage in flow.nodes:
            check_stage(name, stage)
        made = Backend(self.backend, flow, getattr(BACKENDS.get(self.backend), "allocator", None))
        program = instance.with_backend(made)
        if self.grid_type is not None:
            program = program.with_grid_type(self.grid_type)
        return Order(program.__definition__, made, self.variant, engine(),
                     lambda: program.provide(self.variant))  # fmt: skip


@contextmanager
def locking(path: str | os.PathLike[str], *, dry: bool = True) -> Iterator[None]:
    """Write a lock file of every build that the block asks for.

        with locking("programs.lock"):
            model.set_up()          # 'compile' builds nothing in here

    Args:
        path: the file, which is replaced.
        dry: whether `compile` builds nothing inside the block; calls still build.

    """
    with recording(dry=dry) as recorder:
        yield
    if not recorder.asked:
        warnings.warn(
            f"'{os.fspath(path)}' lists no program: nothing in the block of 'locking' called "
            "'compile' or 'build', and calls record only what they build. Put the set-up of the "
            "model, or 'program.compile()', into the block.",
            UserWarning,
            stacklevel=3,
        )
    write(path, [_locked(each, os.path.dirname(os.fspath(path)) or ".") for each in recorder.asked])


def write(path: str | os.PathLike[str], rows: list[Locked]) -> None:
    """Write rows sorted and without duplicates, so that files can be compared line by line."""
    once = {(row.label, row.workflow): row for row in rows}
    body = {"format": FORMAT, "programs": [_as_json(once[key]) for key in sorted(once)]}
    beside = Path(f"{os.fspath(path)}.{os.getpid()}.part")
    beside.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n")
    beside.replace(path)


def read(path: str | os.PathLike[str]) -> tuple[Locked, ...]:
    """Read a lock file; what is none, or has another shape, is a `LockFileError`."""
    try:
        head = read_json(path, mapping(anything))
        if head.get("format") != FORMAT:
            raise ShapeError(f"it has format {head.get('format')!r}, expected {FORMAT}")
        return tuple(map(_from_json, _FILE(head, "")["programs"]))
    except (OSError, ShapeError) as error:
        raise LockFileError(
            f"'{os.fspath(path)}' cannot be read as a lock file: {error}.",
            hints=["Write one with 'with fieldforge.locking(\"programs.lock\"): ...'."],
        ) from error


def _pass(address: str, folder: str) -> Any:
    """Return the function or stage at an address; a workflow may call neither classes nor others.

    Functions of Python have a source, which is part of the key of a build.
    """
    found = find_inside(address, folder)
    if not isinstance(found, FunctionType | FunctionStage):
        raise LockFileError(f"'{address}' is no pass: expected a function.")
    return found


def _locked(asked: Asked, folder: str) -> Locked:
    flow = asked.backend.workflow
    stages: list[Any] = [stage for _, stage in flow.nodes]
    passes = {
        stage.name: address_of(
            type(stage).function if isinstance(stage, FunctionStage) else stage.function, folder
        )
        for stage in stages
        if isinstance(stage, FunctionStage) or graph_text.is_pass(stage)
    }
    loop_passes = (step for stage in stages for step in getattr(stage, "passes", ()))
    passes |= {step.__name__: address_of(step, folder) for step in loop_passes if callable(step)}
    order = Order(asked.definition, asked.backend, asked.variant, engine(), lambda: None)
    look = order.look()
    found = engine().store.find(look.key) if look is not None else None
    return Locked(
        address_of(asked.definition.function, folder), asked.backend.name,
        graph_text.show(flow.nodes, flow.edges, whole=True), passes, asked.variant,
        look.key if look else None, found.seconds if found else None, asked.definition.grid_type,
        tuple(name for _, name in asked.definition.types),
    )  # fmt: skip


def _as_json(row: Locked) -> dict[str, Any]:
    body = attrs.asdict(row)
    return {name: value for name, value in body.items() if value not in (None, {}, ())}


def _from_json(body: Mapping[str, Any]) -> Locked:
    variant = Variant(**{name: _frozen(value) for name, value in body["variant"].items()})
    types = _frozen(body.get("types", ()))
    return Locked(**{"passes": {}, **body, "variant": variant, "types": types})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
