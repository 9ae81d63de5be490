"""Draw programs as models have them, with fields as large as theirs, to be timed.

Others here draw all that the language allows, on grids of a few points. These have operators in
chains and diamonds, values at one to nine points, sums over one or two tables, scans beside
stencils, outputs at one to three locations, and levels from 0, 1 or 2.
"""

from __future__ import annotations

import hashlib
import linecache
import random
from collections.abc import Mapping
from typing import Any, Final

import attrs

from fieldforge.examples import icosahedral

from .pieces import Draw

HEADER: Final = """\
import fieldforge as ff
from fieldforge import float32, float64, neighbor_sum, sqrt
from fieldforge.examples.icosahedral import *
from fieldforge.examples.icosahedral import (
    C2E, C2V, E2C, E2V, V2E, V2C, C2E2C, C2EDim, C2VDim, E2CDim, E2VDim, V2EDim, V2CDim, C2E2CDim,
    Cell, Edge, Vertex, K,
)
I, J = ff.Dimension("I"), ff.Dimension("J")
"""
HALO: Final = 6
POINTS: Final = (10_000, 100_000, 1_000_000, 3_000_000)
LEVELS: Final = (80, 1, 20, 60, 120)
PATTERNS: Final[Mapping[str, tuple[tuple[int, int, int], ...]]] = {
    "here": ((0, 0, 0),),
    "along I": ((0, 0, 0), (1, 0, 0)),
    "along J": ((0, -1, 0), (0, 0, 0)),
    "both sides of I": ((-1, 0, 0), (1, 0, 0)),
    "cross": ((0, 0, 0), (-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0)),
    "square": tuple((i, j, 0) for i in (-1, 0, 1) for j in (-1, 0, 1)),
    "wide": ((-2, 0, 0), (-1, 0, 0), (0, 0, 0), (1, 0, 0), (2, 0, 0)),
    "above": ((0, 0, 0), (0, 0, 1)),
}  # fmt: skip
WEIGHTS: Final = (
    (6, "here"), (3, "along I"), (3, "along J"), (2, "both sides of I"), (3, "cross"),
    (1, "square"), (1, "wide"), (2, "above"),
)  # fmt: skip
TABLES: Final[Mapping[tuple[str, str], str]] = {
    ("Cell", "Edge"): "C2E", ("Cell", "Vertex"): "C2V", ("Edge", "Cell"): "E2C",
    ("Edge", "Vertex"): "E2V", ("Vertex", "Edge"): "V2E", ("Vertex", "Cell"): "V2C",
    ("Cell", "Cell"): "C2E2C",
}  # fmt: skip
PLACES: Final = ("Edge", "Cell", "Vertex")


@attrs.frozen
class Value:
    """A value of a program: its name, its location on a mesh, and how far it reads around it."""

    name: str
    place: str = ""
    reach: tuple[int, int, int] = (0, 0, 0)


@attrs.frozen
class LargeCase:
    """A program and the sizes of its call.

    Attributes:
        seed: that it was drawn from.
        text: of the operator and the program.
        dtype: of all fields.
        dims: of a grid, empty on a mesh.
        fields: by name the location of each input on a mesh.
        outputs: the same.
        first: the first level of the outputs.
        points: about how many an output has.
        levels: how many; 0 for fields without levels.
        order: the numbering of a mesh.
        shift: how far rows are from whole lines, in points.

    """

    seed: int
    text: str
    dtype: str
    dims: tuple[str, ...]
    fields: Mapping[str, str]
    outputs: Mapping[str, str]
    first: int
    points: int
    levels: int
    order: icosahedral.Order = "curve"
    shift: int = 0

    @property
    def is_mesh(self) -> bool:
        """Whether it is on a mesh."""
        return not self.dims


def large_case(seed: int) -> LargeCase:
    """Draw a program; the same for the same seed.

    >>> large_case(3) == large_case(3), large_case(3) == large_case(4)
    (True, False)
    """
    d = Draw(random.Random(f"large {seed}").randrange)
    dtype = d.weighted([(3, "float64"), (2, "float32")])
    return _on_mesh(d, seed, dtype) if d.chance(40) else _on_grid(d, seed, dtype)


# --- grids --------------------------------------------------------------------------------------


def _on_grid(d: Draw, seed: int, dtype: str) -> LargeCase:
    dims = ("I", "J", "K") if d.chance(75) else ("I", "J")
    inputs = [Value(f"f{n}") for n in range(1 + d.below(4))]
    values, lines = list(inputs), []
    walks = len(dims) == 3 and d.chance(30)
    count = 2 + d.below(11)
    scanned = d.below(count) if walks else -1
    for n in range(count):
        recent = values[-4:] if d.chance(70) else values
        operands = [values[-1] if n and d.chance(60) else d.pick(recent)]
        operands += [d.pick(recent) for _ in range(d.below(3))]
        terms, reach = [], (0, 0, 0)
        for value in dict.fromkeys(operands):
            text, own = _shifted(d, value, dims)
            terms.append(text)
            reach = tuple(map(max, reach, own))  # type: ignore[assignment]  # three numbers
        made = Value(f"t{n}", reach=reach)
        lines.append(f"t{n} = {_combined(d, terms, dtype)}")
        if n == scanned:
            lines.append(f"s{n} = walked(t{n}, {inputs[0].name})")
            values.append(Value(f"s{n}", reach=(HALO, HALO, 1)))  # not shifted any more
        values.append(made)
    outs = dict.fromkeys([values[-1], *(d.pick(values[len(inputs) :]) for _ in range(d.below(3)))])
    first = d.pick((0, 1, 2)) if len(dims) == 3 else 0
    return _assembled(
        d, seed, dtype, dims, inputs, lines, tuple(outs), walks, first=first,
        points=d.pick(POINTS), levels=d.pick(LEVELS[:1] + LEVELS[2:]) if len(dims) == 3 else 0,
        shift=d.pick((0, 1, 3)),
    )  # fmt: skip


def _shifted(d: Draw, value: Value, dims: tuple[str, ...]) -> tuple[str, tuple[int, int, int]]:
    """Return a sum of a value at the points of a pattern, and how far it reads."""
    pattern = PATTERNS[d.weighted(list(WEIGHTS))]
    used = tuple(dims) + ("",) * (3 - len(dims))
    sides = [max(abs(at[axis]) for at in pattern) for axis in range(3)]
    reach = tuple(map(sum, zip(value.reach, sides, strict=True)))
    too_far = any(n > limit for n, limit in zip(reach, (HALO, HALO, 1), strict=True))
    if too_far or (sides[2] and not used[2]):
        return value.name, value.reach
    terms = []
    for at in pattern:
        text = value.name
        for dim, offset in zip(used, at, strict=True):
            text += f"({dim} + {offset})" if offset > 0 else f"({dim} - {-offset})" * bool(offset)
        terms.append(text)
    return f"({' + '.join(terms)})", reach  # type: ignore[return-value]  # three numbers


def _combined(d: Draw, terms: list[str], dtype: str) -> str:
    """Return an expression of some terms with one or a few operations for each."""
    text = terms[0]
    for term in terms[1:]:
        text = f"({text} {d.pick(('+', '-', '*'))} {term})"
    text = f"{dtype}({d.pick((0.25, 0.125, 0.5))}) * {text}"
    match d.weighted([(6, ""), (2, "square"), (1, "root"), (1, "quotient")]):
        case "square":
            text = f"{text} + {terms[0]} * {terms[-1]}"
        case "root":
            text = f"sqrt({dtype}(1.0) + {terms[0]} * {terms[0]}) * {text}"
        case "quotient":
            text = f"{text} / ({dtype}(2.0) + {terms[-1]} * {terms[-1]})"
    return text


# --- meshes -------------------------------------------------------------------------------------


def _on_mesh(d: Draw, seed: int, dtype: str) -> LargeCase:
    inputs = [Value(f"f{n}", d.pick(PLACES)) for n in range(2 + d.below(3))]
    values, lines = list(inputs), []
    for n in range(2 + d.below(7)):
        place = d.pick(PLACES)
        recent = values[-4:] if d.chance(70) else values
        operands = [values[-1] if n and d.chance(60) else d.pick(recent)]
        operands += [d.pick(recent) for _ in range(d.below(2))]
        terms = [_brought(d, value, place) for value in dict.fromkeys(operands)]
        lines.append(f"t{n} = {_combined(d, terms, dtype)}")
        values.append(Value(f"t{n}", place))
    outs = dict.fromkeys([values[-1], *(d.pick(values[len(inputs) :]) for _ in range(d.below(3)))])
    levels = d.pick(LEVELS)
    return _assembled(
        d, seed, dtype, (), inputs, lines, tuple(outs), False,
        first=d.pick((0, 1, 2)) if levels > 1 else 0,
        points=d.pick(POINTS), levels=levels,
        order=d.weighted([(3, "curve"), (2, "breadth-first"), (1, "shuffled")]),
    )  # fmt: skip


def _brought(d: Draw, value: Value, place: str) -> str:
    """Return a value at another location: the sum or the difference over neighbours."""
    table = TABLES.get((place, value.place))
    if table is None or (place == value.place and d.chance(60)):
        return value.name
    if table[0] == "E" and d.chance(50):
        return f"({value.name}({table}[1]) - {value.name}({table}[0]))"
    return f"neighbor_sum({value.name}({table}), axis={table}Dim)"


# --- text ---------------------------------------------------------------------------------------


def _assembled(
    d: Draw,
    seed: int,
    dtype: str,
    dims: tuple[str, ...],
    inputs: list[Value],
    lines: list[str],
    outs: tuple[Value, ...],
    walks: bool,
    **sizes: Any,
) -> LargeCase:
    levels = sizes["levels"]

    def type_of(value: Value) -> str:
        own = dims or ((value.place, "K") if levels > 1 else (value.place,))
        return f"ff.Field[ff.Dims[{', '.join(own)}], {dtype}]"

    given = ", ".join(f"{value.name}: {type_of(value)}" for value in inputs)
    names = ", ".join(value.name for value in inputs)
    results = [f"out{n}" for n in range(len(outs))]
    types = ", ".join(map(type_of, outs))
    returned = ", ".join(value.name for value in outs)
    is_one = len(outs) == 1
    out = results[0] if is_one else f"({', '.join(results)})"
    scan = (
        f"@ff.scan_operator(axis=K, forward={d.chance(50)}, init={dtype}(0.0))\n"
        f"def walked(state: {dtype}, x: {dtype}, y: {dtype}) -> {dtype}:\n"
        f"    return {dtype}(0.5) * state + x / ({dtype}(2.0) + y * y)\n\n"
    )
    taken = ", ".join(f"{name}: {type_of(v)}" for name, v in zip(results, outs, strict=True))
    text = (
        f"{scan * walks}@ff.field_operator\ndef drawn({given})"
        f" -> {types if is_one else f'tuple[{types}]'}:\n"
        + "".join(f"    {line}\n" for line in lines)
        + f"    return {returned}\n\n@ff.program\ndef program_{seed}({given}, {taken}):\n"
        f"    drawn({names}, out={out})\n"
    )
    fields = {value.name: value.place for value in inputs}
    outputs = {name: value.place for name, value in zip(results, outs, strict=True)}
    return LargeCase(seed, text, dtype, dims, fields, outputs, **sizes)


def program_of(case: LargeCase) -> Any:
    """Return the program of a case, without a backend."""
    text = f"{HEADER}\n{case.text}"
    file = f"<large {case.seed} {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": f"large_{case.seed}"}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names[f"program_{case.seed}"]
