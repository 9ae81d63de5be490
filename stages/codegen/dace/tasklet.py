"""Write the body of a nest as one C++ tasklet, with the expressions of the C++ writer."""

from __future__ import annotations

import attrs

from ...ir.loops import Argument, Compute, Constant, Instruction, Load, Nest, Store
from ..cpp.operations import TYPES, express, literal


@attrs.frozen
class Body:
    """What a tasklet does, what it reads and writes, and the inline functions that it calls.

    Its connectors are `l3` for the element that row 3 loads, `o5` for the one that row 5 stores,
    `s0` for the first of its scalars.
    """

    text: str
    loads: tuple[tuple[str, Load], ...]
    stores: tuple[tuple[str, Store], ...]
    scalars: tuple[tuple[str, str], ...]
    functions: tuple[tuple[str, str], ...]


def write_body(nest: Nest) -> Body:
    """Return the tasklet of a nest."""
    used = {row.name for row in nest.body if isinstance(row, Argument)}
    scalars = {name: f"s{place}" for place, name in enumerate(sorted(used))}
    functions: dict[str, str] = {}
    lines: list[str] = []
    for number, row in enumerate(nest.body):
        match row:
            case Load():
                test = " != 0" if row.dtype == "bool" else ""
                lines.append(f"{_value(number, row)} = l{number}{test};")
            case Compute(op=op, args=args):
                operands = [_operand(nest, arg, scalars) for arg in args]
                written = express(op, row.dtype, operands, [nest.body[arg].dtype for arg in args])
                functions.update(written.functions)
                lines.append(f"{_value(number, row)} = {written.text};")
            case Store(value=stored):
                lines.append(f"o{number} = {_operand(nest, stored, scalars)};")
    rows = list(enumerate(nest.body))
    return Body(
        text="\n".join(lines),
        loads=tuple((f"l{number}", row) for number, row in rows if isinstance(row, Load)),
        stores=tuple((f"o{number}", row) for number, row in rows if isinstance(row, Store)),
        scalars=tuple((connector, name) for name, connector in scalars.items()),
        functions=tuple(functions.items()),
    )


def _value(number: int, row: Instruction) -> str:
    return f"const {TYPES[row.dtype][0]} v{number}"


def _operand(nest: Nest, number: int, scalars: dict[str, str]) -> str:
    row = nest.body[number]
    match row:
        case Constant(text=text):
            return literal(text, row.dtype)
        case Argument(name=name):
            return scalars[name]
    return f"v{number}"
