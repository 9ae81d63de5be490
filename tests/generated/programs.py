"""Draw whole programs: operators, and statements that call them; without hypothesis."""

from __future__ import annotations

from typing import Final

from .arguments import State, arguments
from .calls import Operator
from .case import Case, FieldSpec
from .grids import COUNTS, HORIZONTAL, Box
from .grouping import with_collections
from .operators import field_operator
from .pieces import Draw, leaves
from .scans import scan_operator
from .targets import output, written_outputs

SIZES: Final = {
    "I": (6, 3, 9, 17, 1, 34), "J": (3, 2, 5, 1), "K": (4, 2, 7, 1),
    "Ih": (6, 3, 9, 17, 1), "Jh": (3, 2, 1), "Kh": (5, 3, 1),
}  # fmt: skip
STARTS: Final = (0, 0, -2, 5)
# The ends of what regions compare, an int32, and of what fields may have, without shifts and sums.
FAR: Final = tuple(sign * (2**bits - 128) for bits in (31, 38) for sign in (1, -1))


def program(d: Draw, features: frozenset[str]) -> Case:
    """Draw a program of some statements."""
    operators: list[Operator] = []
    for index in range(d.weighted([(5, 1), (4, 2), (2, 3)])):
        known = tuple(operators)
        if "scan" in features and d.chance(35):
            operators.append(scan_operator(d, f"op{index}", features))
        else:
            operators.append(field_operator(d, f"op{index}", features, known))
    state = State(_frame(d))
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
    case = Case(
        whole,
        any(name in whole for name in HORIZONTAL),
        tuple(state.fields),
        tuple(state.scalars),
        tuple(kinds),
        d.below(1000),
        d.pick((0, 10, 40)),
    )
    return with_collections(d, case, operators) if "collections" in features else case


def _frame(d: Draw) -> Box:
    frame: Box = {}
    far = {dim: d.pick(FAR) if d.chance(8) else 0 for dim in ("I", "J", "K")}
    for dim, sizes in SIZES.items():
        start = far[dim[0]] + d.pick(STARTS)
        frame[dim] = (start, start + d.pick(sizes))
    return frame | {dim: (0, count) for dim, count in COUNTS.items()}


# --- statements -------------------------------------------------------------------------------


def _statement(d: Draw, state: State, operator: Operator) -> str:
    """Draw a call: what it writes, then arguments that cover what it reads."""
    found = leaves(operator.result)
    target = _target(d, state)
    targets = [target if operator.walks or not d.chance(20) else _target(d, state) for _ in found]
    outs: list[FieldSpec] = []
    for (_, kind), box in zip(found, targets, strict=True):
        outs.append(output(d, state, kind, {dim: box[dim] for dim in kind.dims}, outs))
    boxes = [
        {dim: box[dim] for dim in kind.dims} for (_, kind), box in zip(found, targets, strict=True)
    ]
    given = arguments(d, state, operator, found, boxes, target)
    for spec, flag in zip(outs, operator.flags, strict=True):
        spec.written = True
        spec.ulps = max(spec.ulps, flag.ulps)
    named = d.chance(30)
    texts = [
        f"{parameter.name}={text}" if named else text
        for parameter, text in zip(operator.parameters, given, strict=True)
    ]
    texts += written_outputs(d, state, operator, outs, boxes)
    return f"{operator.name}({', '.join(texts)})"


def _target(d: Draw, state: State) -> Box:
    """Draw a part of the frame."""
    target = {}
    for dim, (start, stop) in state.frame.items():
        first = start + (d.pick((0, 0, 1, 2)) if stop - start > 2 else 0)
        last = stop - (d.pick((0, 0, 1)) if stop - first > 1 else 0)
        target[dim] = (first, first if d.chance(1) else last)
    return target
