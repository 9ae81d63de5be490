"""Run one stencil in several ways on the same arguments, and say how the results differ."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime.language.operation_table import TABLE
from fieldforge.runtime.language.structure import elements
from fieldforge.runtime.language.types import ScalarType
from fieldforge.stages.artifacts import Parsed
from fieldforge.stages.ir import syntax
from fieldforge.workflows.backends.backend import find_backend
from fieldforge.workflows.builds.building import parsed

from ..placing import bring_back, is_on_host, placed, placed_tables
from .inputs import Arguments, bounds, draw, written

# Read by the workers of `python -m tests.model.stencils --backend dace_cpu`.
_NAME: Final = os.environ.get("MODEL_BACKEND", "cpu")
_CHOSEN: Any = ff.cpu.with_options(tiers="rows") if _NAME == "rows" else find_backend(_NAME)
COMPILED: Final = _CHOSEN.with_options(numerics="strict")
INTERPRETED: Final = ff.reference.with_options(numerics="strict")
NEAR: Final = {"float64": 1e-12, "float32": 1e-4}  # of the largest, after inexact functions
LEAST: Final = 1e-3  # what the largest is taken for, where all numbers nearly cancel
_INEXACT: Final = frozenset(row.name for row in TABLE if row.ulps)

Way = Callable[[Any, Arguments], None]


@attrs.frozen
class Difference:
    """Where a way of running disagrees with embedded execution."""

    way: str
    field: str
    relative: float
    count: int
    size: int
    is_near: bool

    def __str__(self) -> str:
        return (
            f"'{self.field}' {self.way}: {self.count} of {self.size} elements differ, "
            f"by up to {self.relative:.1e} of the largest"
        )


def refusal(entry: Any) -> str:
    """Say why the language does not let a stencil be built alone; empty where it does."""
    root = parsed(entry.__definition__).root
    if not isinstance(root, syntax.Program):
        return ""
    types = {each.name: each.type for each in root.parameters}
    is_scalar = any(isinstance(types[name], ScalarType) for name in written(root))
    return "writes a scalar" if is_scalar else ""


def differences(entry: Any, tables: Any, mesh: Mapping[str, int], seed: int) -> list[Difference]:
    """Compare every field of every other way to run with embedded execution."""
    meant = _fields_after(_by(None, tables), entry, draw(entry, mesh, seed))
    ways = {
        "interpreted": _by(INTERPRETED, tables),
        "compiled": _by(COMPILED, tables),
    }
    if (
        entry.__definition__.kind == "program" and seed < 2 and is_on_host(COMPILED)
    ):  # every set of sizes is a build
        ways["set up by the model"] = _set_up(tables, mesh, seed)
    inexact = is_inexact(entry)
    found = []
    for way, run in ways.items():
        given = _fields_after(run, entry, draw(entry, mesh, seed))
        found += [
            difference
            for name, array in meant.items()
            if (difference := _difference(way, name, given[name], array, inexact)) is not None
        ]
    return found


def is_inexact(entry: Any) -> bool:
    """Tell whether a function is reached that libraries compute differently."""
    found: Parsed = parsed(entry.__definition__)
    trees = (found.root, *(tree for _, tree in found.operators))
    return any(
        isinstance(node, syntax.Operation) and node.op in _INEXACT
        for tree in trees
        for node in tree.nodes
    )


def _by(backend: Any, tables: Any) -> Way:
    def run(entry: Any, given: Arguments) -> None:
        extra = {} if given.out is None else {"out": given.out}
        entry.with_backend(backend)(**given.values, **extra, offset_provider=tables)

    def run_elsewhere(entry: Any, given: Arguments) -> None:
        moved = Arguments(
            {name: placed(value, backend) for name, value in given.values.items()},
            placed(given.out, backend),
        )
        extra = {} if moved.out is None else {"out": moved.out}
        own = placed_tables(tables, backend)
        entry.with_backend(backend)(**moved.values, **extra, offset_provider=own)
        for name, value in given.values.items():
            bring_back(value, moved.values[name])
        bring_back(given.out, moved.out)

    return run if is_on_host(backend) else run_elsewhere


def _set_up(tables: Any, mesh: Mapping[str, int], seed: int) -> Way:
    """Run a program as the model does: sizes and scalars compiled in, flags in variants."""
    from icon4py.model.common import model_options

    def run(entry: Any, given: Arguments) -> None:
        root = parsed(entry.__definition__).root
        assert isinstance(root, syntax.Program)
        sizes = bounds(root, mesh, seed).keys()
        flags = [name for name, value in given.values.items() if isinstance(value, bool)]
        scalars = [
            name
            for name, value in given.values.items()
            if ff.is_scalar_type(value) and name not in (*sizes, *flags)
        ]
        program = model_options.setup_program(
            program=entry,
            backend=COMPILED,
            constant_args={name: given.values[name] for name in scalars},
            variants={name: [False, True] for name in flags[:2]},
            horizontal_sizes={name: given.values[name] for name in sizes},
            offset_provider=tables,
        )
        bound = (*sizes, *scalars)
        program(**{name: each for name, each in given.values.items() if name not in bound})

    return run


def _fields_after(run: Way, entry: Any, given: Arguments) -> dict[str, Any]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        run(entry, given)
    named = {**given.values, "out": given.out}
    return {
        name: each.asnumpy() for key, value in named.items() for name, each in _fields(key, value)
    }


def _fields(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, ff.Field):
        yield name, value
    for index, each in enumerate(elements(value) or ()):
        yield from _fields(f"{name}[{index}]", each)


def _difference(way: str, name: str, given: Any, meant: Any, inexact: bool) -> Difference | None:
    if meant.dtype.kind != "f":
        count, relative = int(np.count_nonzero(given != meant)), float("inf")
    else:
        same = (given == meant) & (np.signbit(given) == np.signbit(meant))
        wrong = ~(same | (np.isnan(given) & np.isnan(meant)))
        count, relative = int(np.count_nonzero(wrong)), _relative(given, meant, wrong)
    near = inexact and relative <= NEAR.get(meant.dtype.name, 0.0)
    return Difference(way, name, relative, count, meant.size, near) if count else None


def _relative(given: Any, meant: Any, wrong: Any) -> float:
    """Return the largest distance in parts of the largest number; infinite for NaN."""
    if not np.isfinite(given[wrong]).all() or not np.isfinite(meant[wrong]).all():
        return float("inf")
    largest = float(np.abs(meant[np.isfinite(meant)]).max(initial=LEAST))
    return float(np.abs(given[wrong] - meant[wrong]).max(initial=0.0)) / largest
