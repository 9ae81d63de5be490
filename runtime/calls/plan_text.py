"""Print an argument plan for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..process import DeviceType, classes
from .plan import Access, Argument, Box, Code, Plan, Word

_INFIX: Final = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}


def show_plan(plan: Plan) -> str:
    """Return the plan for a person, one argument, integer and box a line.

    >>> from fieldforge import Dimension
    >>> field = Argument("a", (0,), "field", "float64", (Dimension("I"),), written=True)
    >>> last = (Word("stop"), Word("const", 1), Word("sub"))
    >>> box = Box(0, ((Word("start"),),), (last,))
    >>> print(show_plan(Plan("p", ("a",), (field,), (last,), (Access((box,), ()),))))
    program p(a): backend cpu, ABI 1
    argument 0   a = Field[[I], float64], written
    int 0        stop(a, I) - 1
    statement 0
      writes     a[start(a, I):stop(a, I) - 1]
    workspace    0 bytes
    """
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    names = ", ".join(plan.parameters)
    device = DeviceType(plan.device)
    on = "" if device is DeviceType.CPU else f" on {device.name}"
    yield f"program {plan.program}({names}): backend {plan.backend}{on}, ABI {plan.abi}"
    for index, argument in enumerate(plan.arguments):
        yield f"{f'argument {index}':<12} {_shown_argument(argument)}"
    for index, code in enumerate(plan.ints):
        yield f"{f'int {index}':<12} {_shown(code, plan)}"
    for index, access in enumerate(plan.accesses):
        yield f"statement {index}{', a further part' * access.continues}"
        yield from _access_lines(access, plan)
    yield from _conditions(plan)
    for status in plan.statuses:
        fact = f"{plan.arguments[status.argument].name} is {status.kind.replace('_', ' ')}"
        yield f"{f'code {status.code}':<12} {fact}"
    for number, launch in enumerate(plan.launches):
        yield f"{f'launch {number}':<12} {launch}"
    if plan.stepped >= 0:
        yield f"{f'int {plan.stepped}':<12} the only statement that runs, from 1 on; 0 for all"
    if plan.is_inside:
        yield "for calls in which no read leads out of what it must have"
    if plan.clamped >= 0:
        yield f"{f'int {plan.clamped}':<12} 1 if a read leads out of what it must have"
    yield f"{'workspace':<12} {_shown(plan.workspace, plan)} bytes"


def _access_lines(access: Access, plan: Plan) -> Iterator[str]:
    """Write what a statement touches, and what may share memory with it."""
    yield from (f"  writes     {_shown_box(box, plan)}" for box in access.writes)
    for box in access.reads:
        yield f"  reads      {_shown_box(box, plan)}"
        if box.hard:
            starts, stops = zip(*box.hard, strict=True)
            part = classes.evolve(box, start=starts, stop=stops)
            yield f"  must have  {_shown_box(part, plan)}"
    for pair in access.pointwise:
        written, read = (plan.arguments[index].name for index in pair)
        yield f"  pointwise  {written} may be {read}"


def _conditions(plan: Plan) -> Iterator[str]:
    """Write which ranges of a call the plan fits."""
    for first, axis, second, _ in plan.alike:
        one, two = plan.arguments[first], plan.arguments[second]
        along = one.dims[axis].value
        yield f"{'fits where':<12} {one.name} and {two.name} have one range along {along}"
    for place, axis, start, stop in plan.ranges:
        argument = plan.arguments[place]
        along = argument.dims[axis].value
        yield f"{'fits where':<12} {argument.name} has the range {start}:{stop} along {along}"


def _shown_argument(argument: Argument) -> str:
    dims = ", ".join(dim.value for dim in argument.dims)
    if argument.kind == "table":
        missing = ", some missing" if argument.skip else ""
        return f"{argument.name} = table over ({dims}), {argument.width} neighbours{missing}"
    path = "".join(f"[{index}]" for index in argument.path[1:])
    place = f" at parameter {argument.path[0]}{path}" if path else ""
    if argument.kind == "scalar":
        return f"{argument.name} = {argument.dtype}{place}"
    facts = [f"{argument.name} = Field[[{dims}], {argument.dtype}]{place}"]
    facts += ["read"] * argument.read + ["written"] * argument.written
    if argument.unit >= 0:
        facts.append(f"unit stride along {argument.dims[argument.unit].value}")
    return ", ".join(facts)


def _shown_box(box: Box, plan: Plan) -> str:
    ranges = zip(box.start, box.stop, strict=True)
    inner = ", ".join(f"{_shown(first, plan)}:{_shown(last, plan)}" for first, last in ranges)
    return f"{plan.arguments[box.argument].name}[{inner}]"


def _shown(code: Code, plan: Plan) -> str:
    """Write postfix as infix, with brackets around every operand that is an operation."""
    stack: list[tuple[str, bool]] = []
    for word in code:
        if word.op in ("lowest", "beyond"):
            (stop, _), (start, _) = stack.pop(), stack.pop()
            rows = f"{plan.arguments[word.argument].name}, {start}, {stop}"
            stack.append((f"{word.op}({rows})", False))
        elif word.op in ("add", "sub", "mul", "min", "max", "floordiv", "mod"):
            (right, right_apart), (left, left_apart) = stack.pop(), stack.pop()
            if sign := _INFIX.get(word.op):
                left = f"({left})" if left_apart else left
                right = f"({right})" if right_apart else right
                stack.append((f"{left} {sign} {right}", True))
            else:
                stack.append((f"{word.op}({left}, {right})", False))
        else:
            stack.append((_shown_word(word, plan), False))
    return stack[-1][0]


def _shown_word(word: Word, plan: Plan) -> str:
    match word.op:
        case "const":
            return str(word.value)
        case "patches":
            number = ("address", "patches", "shared", "size")[word.slots[0]]
            return f"{number}({word.slots[1]} by {plan.arguments[word.argument].name})"
        case "int":
            return f"ints[{word.value}]"
    argument = plan.arguments[word.argument]
    if word.op == "scalar":
        return argument.name
    return f"{word.op}({argument.name}, {argument.dims[word.axis].value})"
