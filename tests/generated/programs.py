"""Draw whole programs: operators, statements, output domains, and inputs that just cover them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
from hypothesis import strategies as st

from .demand import Demand, Meaning, nothing
from .grids import COUNTS, HORIZONTAL, VERTICAL, Box, extent_of, header
from .literals import literal
from .operators import Operator, field_operator
from .pieces import FLOATS, INTEGERS, Draw, Flags, Kind, Variable, leaves
from .scans import scan_operator

LAYOUTS: Final = ("default", "default", "c", "f", "gaps", "reversed")
SIZES: Final = {"I": (6, 3, 9, 17, 1, 34), "J": (3, 2, 5, 1), "K": (4, 2, 7, 1)}
STARTS: Final = (0, 0, -2, 5)


@attrs.define
class FieldSpec:
    """A field of the program: where it lives and what is in it.

    The box of an input grows with what is read; that of an output is `fixed`. One that is compared
    within some `ulps` is never read again.
    """

    name: str
    kind: Kind
    box: Box
    fixed: bool
    layout: str = "default"
    ulps: int = 0
    written: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents in order."""
        return tuple(self.box[dim][1] - self.box[dim][0] for dim in self.kind.dims)


@attrs.frozen
class Case:
    """A program and what it is called with; `seed` and `percent` make the data."""

    text: str
    unstructured: bool
    fields: tuple[FieldSpec, ...]
    scalars: tuple[tuple[str, str, str], ...]  # name, dtype, literal
    order: tuple[str, ...]
    seed: int
    percent: int

    @property
    def source(self) -> str:
        """The text that runs by itself."""
        return f"{header(self.unstructured)}\n\n{self.text}"


@attrs.define
class _State:
    """What a program has so far."""

    frame: Box
    fields: list[FieldSpec] = attrs.field(factory=list)
    scalars: list[tuple[str, str, str]] = attrs.field(factory=list)

    def new_field(self, kind: Kind, box: Box, fixed: bool, layout: str) -> FieldSpec:
        made = FieldSpec(f"f{len(self.fields)}", kind, box, fixed, layout)
        self.fields.append(made)
        return made

    def new_scalar(self, dtype: str, text: str) -> str:
        name = f"s{len(self.scalars)}"
        self.scalars.append((name, dtype, text))
        return name


@st.composite
def cases(draw: Callable[[st.SearchStrategy[int]], int], features: frozenset[str]) -> Case:
    """Draw programs with hypothesis."""
    return program(Draw(lambda count: draw(st.integers(0, count - 1))), features)


def program(d: Draw, features: frozenset[str]) -> Case:
    """Draw a program of some statements."""
    operators: list[Operator] = []
    for index in range(d.weighted([(5, 1), (4, 2), (2, 3)])):
        known = tuple(operators)
        if "scan" in features and d.chance(35):
            operators.append(scan_operator(d, f"op{index}", features))
        else:
            operators.append(field_operator(d, f"op{index}", features, known))
    state = _State(_frame(d))
    statements = [
        _statement(d, state, operators[-1] if index == 0 else d.pick(operators))
        for index in range(d.weighted([(6, 1), (3, 2), (1, 3)]))
    ]
    kinds = {spec.name: str(spec.kind) for spec in state.fields}
    kinds |= {name: dtype for name, dtype, _ in state.scalars}
    parameters = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
    whole = "\n".join(
        [
            "\n\n\n".join(operator.text for operator in operators),
            "\n\n@program(backend=None)",
            f"def program_under_test({parameters}):",
            *(f"    {statement}" for statement in statements),
            "",
        ]
    )
    return Case(
        whole,
        any(name in whole for name in HORIZONTAL),
        tuple(state.fields),
        tuple(state.scalars),
        tuple(kinds),
        d.below(1000),
        d.pick((0, 10, 40)),
    )


def _frame(d: Draw) -> Box:
    frame: Box = {}
    for dim, sizes in SIZES.items():
        start = d.pick(STARTS)
        frame[dim] = (start, start + d.pick(sizes))
    return frame | {dim: (0, count) for dim, count in COUNTS.items()}


# --- statements -------------------------------------------------------------------------------


def _statement(d: Draw, state: _State, operator: Operator) -> str:
    """Draw a call: what it writes, then arguments that cover what it reads."""
    found = leaves(operator.result)
    target = _target(d, state)
    targets = [target if operator.walks or not d.chance(20) else _target(d, state) for _ in found]
    outs: list[FieldSpec] = []
    for (_, kind), box in zip(found, targets, strict=True):
        outs.append(_output(d, state, kind, {dim: box[dim] for dim in kind.dims}, outs))
    boxes = [
        {dim: box[dim] for dim in kind.dims} for (_, kind), box in zip(found, targets, strict=True)
    ]
    given, needs = _arguments(d, state, operator, found, boxes, target)
    for spec, flag in zip(outs, operator.flags, strict=True):
        spec.written = True
        spec.ulps = max(spec.ulps, flag.ulps)
    named = d.chance(30)
    texts = [
        f"{parameter.name}={text}" if named else text
        for parameter, text in zip(operator.parameters, given, strict=True)
    ]
    texts += _written_outputs(d, state, operator, outs, boxes)
    return f"{operator.name}({', '.join(texts)})"


def _target(d: Draw, state: _State) -> Box:
    """Draw a part of the frame."""
    target = {}
    for dim, (start, stop) in state.frame.items():
        first = start + (d.pick((0, 0, 1, 2)) if stop - start > 2 else 0)
        last = stop - (d.pick((0, 0, 1)) if stop - first > 1 else 0)
        target[dim] = (first, first if d.chance(1) else last)
    return target


def _output(d: Draw, state: _State, kind: Kind, box: Box, taken: list[FieldSpec]) -> FieldSpec:
    """Draw a field to write: one that is there already, or a new one with some room around."""
    known = [
        spec for spec in state.fields
        if spec.fixed and spec.kind == kind and _inside(box, spec.box) and spec not in taken
    ]  # fmt: skip
    if known and d.chance(40):
        return d.pick(known)
    roomy = {}
    for dim, (start, stop) in box.items():
        count = COUNTS.get(dim)
        low, high = d.pick((0, 0, 1, 3)), d.pick((0, 0, 2))
        roomy[dim] = (
            (start - low, stop + high)
            if count is None
            else (max(start - low, 0), min(stop + high, count))
        )
    return state.new_field(kind, roomy, True, d.pick(LAYOUTS))


def _inside(small: Box, large: Box) -> bool:
    return all(
        large[dim][0] <= start and stop <= large[dim][1] for dim, (start, stop) in small.items()
    )


# --- arguments --------------------------------------------------------------------------------


def _arguments(
    d: Draw,
    state: _State,
    operator: Operator,
    found: list[tuple[tuple[int, ...], Kind]],
    boxes: list[Box],
    target: Box,
) -> tuple[list[str], list[Box | None]]:
    """Work out what each parameter must cover, and choose what covers it."""
    texts: dict[str, str] = {}
    meanings: list[Meaning] = []
    needs: dict[str, Box] = {}
    for parameter in operator.parameters:
        if parameter.type.dims:
            meanings.append(_recorder(parameter, needs))
            continue
        texts[parameter.name], value = _scalar(d, state, parameter)
        meanings.append(Demand((), lambda box: None, value))
    result = operator.mean(meanings, target)
    for (path, _), box in zip(found, boxes, strict=True):
        part = result
        for index in path:
            part = part[index]
        part(box)
    for parameter in operator.parameters:
        if parameter.type.dims:
            texts[parameter.name] = _field(d, state, parameter.type, needs.get(parameter.name))
    return [texts[each.name] for each in operator.parameters], []


def _recorder(parameter: Variable, needs: dict[str, Box]) -> Demand:
    def ask(box: Box) -> None:
        needs[parameter.name] = _hull(needs.get(parameter.name), box)

    return Demand(parameter.type.dims, ask)


def _hull(one: Box | None, other: Box) -> Box:
    if one is None:
        return dict(other)
    return {
        dim: (min(one[dim][0], start), max(one[dim][1], stop))
        for dim, (start, stop) in other.items()
    }


def _field(d: Draw, state: _State, kind: Kind, need: Box | None) -> str:
    """Choose a field that covers `need`: an output (also of this statement), or an input."""
    whole = {dim: (0, extent_of(dim) or 1) for dim in kind.dims}
    box = need if need is not None else {**whole, **_small(state, kind)}
    fitting = [
        spec for spec in state.fields
        if spec.kind == kind and not spec.ulps and spec.fixed and _inside(box, spec.box)
    ]  # fmt: skip
    inputs = [spec for spec in state.fields if spec.kind == kind and not spec.fixed]
    options = [(4, "output")] if fitting else []
    options += [(3, "input")] if inputs else []
    match d.weighted([*options, (4, "new")]):
        case "output":
            return d.pick(fitting).name
        case "input":
            spec = d.pick(inputs)
            spec.box = _hull(spec.box, box)
            return spec.name
    roomy = box if d.chance(70) else _with_room(box)
    return state.new_field(kind, roomy, False, d.pick(LAYOUTS)).name


def _small(state: _State, kind: Kind) -> Box:
    return {dim: (0, 1) for dim in kind.dims if extent_of(dim) is None}


def _with_room(box: Box) -> Box:
    return {
        dim: (start - 1, stop + 2) if extent_of(dim) is None else (0, extent_of(dim) or 0)
        for dim, (start, stop) in box.items()
    }


def _scalar(d: Draw, state: _State, parameter: Variable) -> tuple[str, int | None]:
    """Draw a scalar argument: a parameter, a literal, or an expression of them."""
    dtype = parameter.type.dtype
    if parameter.region:
        low, high = state.frame[VERTICAL]
        value = d.pick((1, 0, 2, low, high, high - 1, 100, -100))
        return (str(value) if d.chance(30) else state.new_scalar("int32", str(value))), value
    known = [name for name, other, _ in state.scalars if other == dtype]
    form = d.weighted([(4, "new"), (3 if known else 0, "known"), (2, "literal"), (2, "sum")])
    if form == "literal":
        return literal(d, dtype), None
    name = d.pick(known) if form == "known" else state.new_scalar(dtype, literal(d, dtype))
    if form != "sum" or dtype == "bool":
        return name, None
    ops = ("+", "-", "*", "/", "//") + (("%",) if dtype in INTEGERS else ())
    op = d.pick(ops)
    other = d.pick([name, literal(d, dtype)])
    if d.chance(15):
        return f"{d.pick(('minimum', 'maximum'))}({name}, {other})", None
    return f"{name} {op} {other}", None


# --- outputs ----------------------------------------------------------------------------------


def _written_outputs(
    d: Draw, state: _State, operator: Operator, outs: list[FieldSpec], boxes: list[Box]
) -> list[str]:
    """Write `out=` and, where that is how the part is given, `domain=`."""
    whole = all(spec.box == box for spec, box in zip(outs, boxes, strict=True))
    mode = d.weighted([(4, "whole")] if whole and d.chance(70) else [(3, "domain"), (2, "slices")])
    names = iter(
        _sliced(spec, box) if mode == "slices" else spec.name
        for spec, box in zip(outs, boxes, strict=True)
    )
    texts = [f"out={_structured(operator.result, lambda: next(names))}"]
    if mode == "domain":
        domains = [_domain(d, state, spec, box) for spec, box in zip(outs, boxes, strict=True)]
        same = len(set(domains)) == 1 and len({spec.kind.dims for spec in outs}) == 1
        if same and d.chance(60):
            return [*texts, f"domain={domains[0]}"]
        parts = iter(domains)
        texts.append(f"domain={_structured(operator.result, lambda: next(parts))}")
    return texts


def _structured(type_: Any, leaf: Callable[[], str]) -> str:
    if isinstance(type_, Kind):
        return leaf()
    return f"({', '.join(_structured(part, leaf) for part in type_)},)"


def _sliced(spec: FieldSpec, box: Box) -> str:
    if spec.box == box:
        return spec.name
    slices = []
    for dim in spec.kind.dims:
        (start, stop), (first, last) = spec.box[dim], box[dim]
        low = str(first - start) if first != start else ""
        high = str(last - stop) if last != stop else ""
        slices.append(f"{low}:{high}")
    return f"{spec.name}[{', '.join(slices)}]"


def _domain(d: Draw, state: _State, spec: FieldSpec, box: Box) -> str:
    ranges = [
        f"{dim}: ({_bound(d, state, box[dim][0])}, {_bound(d, state, box[dim][1])})"
        for dim in spec.kind.dims
    ]
    return f"{{{', '.join(ranges)}}}"


def _bound(d: Draw, state: _State, value: int) -> str:
    """Write a bound of a domain: a number, or an expression of int32 parameters."""
    form = d.weighted([(6, "literal"), (2, "name"), (2, "sum"), (1, "least"), (1, "product")])
    if form == "literal":
        return str(value)
    offset = {"name": 0, "sum": d.pick((1, -1, 3)), "least": 0, "product": 0}[form]
    name = state.new_scalar("int32", str(value - offset))
    match form:
        case "sum":
            return f"{name} {'+' if offset > 0 else '-'} {abs(offset)}"
        case "least":
            return f"{d.pick(('minimum', 'maximum'))}({name}, {value})"
        case "product":
            return f"{name} * 2 - {value}"
    return name
