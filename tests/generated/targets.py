"""Choose what the statements of a program write: whole fields, slices, domains."""

from collections.abc import Callable
from typing import Any

from .arguments import LAYOUTS, State
from .boxes import inside
from .calls import Operator
from .case import FieldSpec
from .grids import COUNTS, INT32, Box
from .pieces import Draw, Kind


def output(d: Draw, state: State, kind: Kind, box: Box, taken: list[FieldSpec]) -> FieldSpec:
    """Draw a field to write: one that is there already, or a new one with some room around."""
    known = [
        spec for spec in state.fields
        if spec.fixed and spec.kind == kind and inside(box, spec.box) and spec not in taken
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


def written_outputs(
    d: Draw, state: State, operator: Operator, outs: list[FieldSpec], boxes: list[Box]
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


def _domain(d: Draw, state: State, spec: FieldSpec, box: Box) -> str:
    ranges = [
        f"{dim}: ({_bound(d, state, box[dim][0])}, {_bound(d, state, box[dim][1])})"
        for dim in spec.kind.dims
    ]
    return f"{{{', '.join(ranges)}}}"


def _bound(d: Draw, state: State, value: int) -> str:
    """Write a bound of a domain: a number, or an expression of parameters."""
    form = d.weighted([(6, "literal"), (2, "name"), (2, "sum"), (1, "least"), (1, "product")])
    if form == "literal":
        return str(value)
    offset = {"name": 0, "sum": d.pick((1, -1, 3)), "least": 0, "product": 0}[form]
    dtype = "int32" if value in INT32 else "int64"
    name = state.new_scalar(dtype, str(value - offset))
    match form:
        case "sum":
            return f"{name} {'+' if offset > 0 else '-'} {dtype}({abs(offset)})"
        case "least":
            return f"{d.pick(('minimum', 'maximum'))}({name}, {value})"
        case "product":
            return f"{name} * {dtype}(2) - {value}"
    return name
