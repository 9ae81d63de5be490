"""Choose what the statements of a program are given: fields that just cover what is read."""

from typing import Final

import attrs

from .boxes import hull, inside
from .calls import Operator
from .case import FieldSpec
from .demand import Demand, Meaning, Mode, mode
from .expressions import is_local
from .grids import INT32, VERTICAL, Box, extent_of
from .literals import literal
from .pieces import INTEGERS, Draw, Kind, Variable

LAYOUTS: Final = ("default", "default", "c", "f", "gaps", "reversed")


@attrs.define
class State:
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


def arguments(
    d: Draw,
    state: State,
    operator: Operator,
    found: list[tuple[tuple[int, ...], Kind]],
    boxes: list[Box],
    target: Box,
) -> list[str]:
    """Work out what each parameter must cover, and choose what covers it."""
    texts: dict[str, str] = {}
    meanings: list[Meaning] = []
    needs: dict[str, Box] = {}
    for parameter in operator.parameters:
        if parameter.type.dims:
            meanings.append(_recorder(parameter, needs))
            continue
        if parameter.type.is_point and d.chance(60):
            texts[parameter.name] = _field(d, state, parameter.type, {})
            meanings.append(Demand((), lambda box: None))
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
    return [texts[each.name] for each in operator.parameters]


def _recorder(parameter: Variable, needs: dict[str, Box]) -> Demand:
    def ask(box: Box) -> None:
        if mode() is not Mode.HIDDEN:
            needs[parameter.name] = hull(needs.get(parameter.name), box)

    return Demand(parameter.type.dims, ask)


def _field(d: Draw, state: State, kind: Kind, need: Box | None) -> str:
    """Choose a field that covers `need`: an output (also of this statement), or an input."""
    whole = {dim: (0, extent_of(dim) or 1) for dim in kind.dims}
    box = need if need is not None else {**whole, **_small(state, kind)}
    fitting = [
        spec for spec in state.fields
        if spec.kind == kind and not spec.ulps and spec.fixed and inside(box, spec.box)
    ]  # fmt: skip
    inputs = [spec for spec in state.fields if spec.kind == kind and not spec.fixed]
    options = [(4, "output")] if fitting else []
    options += [(3, "input")] if inputs else []
    match d.weighted([*options, (4, "new")]):
        case "output":
            return d.pick(fitting).name
        case "input":
            spec = d.pick(inputs)
            box = {dim: whole[dim] if is_local((dim,)) else own for dim, own in box.items()}
            spec.box = hull(spec.box, box)
            return spec.name
    box = {dim: whole[dim] if is_local((dim,)) else own for dim, own in box.items()}
    roomy = box if d.chance(70) else _with_room(box)
    layout = d.pick(LAYOUTS) if kind.dims else "default"
    return state.new_field(kind, roomy, False, layout).name


def _small(state: State, kind: Kind) -> Box:
    """Return one index of each dimension, where the fields of the program are."""
    firsts = {dim: state.frame[dim][0] for dim in kind.dims if extent_of(dim) is None}
    return {dim: (first, first + 1) for dim, first in firsts.items()}


def _with_room(box: Box) -> Box:
    return {
        dim: (start - 1, stop + 2) if extent_of(dim) is None else (0, extent_of(dim) or 0)
        for dim, (start, stop) in box.items()
    }


def _scalar(d: Draw, state: State, parameter: Variable) -> tuple[str, int | None]:
    """Draw a scalar argument: a parameter, a literal, or an expression of them."""
    dtype = parameter.type.dtype
    if parameter.region:
        low, high = (end if end in INT32 else 7 for end in state.frame[VERTICAL])
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
