"""Tell for each value of a program what its adjoint does with it.

%7   sub %6 %5         active; computed again, for the adjoint of %26
%20  exp %4            active; kept in 'flux', for the adjoint of %20, %22
%22  mul %20 %21       active
%30  lt %7 %12         not active; computed again, for the adjoint of %31
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...runtime.process import classes
from ..ir import dataflow_text
from ..ir.dataflow import Dataflow, Input, Literal, Ref, Scalar, Shift
from ..lower.rewrite import reachable

ROOM = 36  # columns for a value


@classes.frozen
class Told:
    """What an adjoint was made from, to explain it.

    Attributes:
        forward: the program as one statement.
        active: the rows that vary with the inputs.
        kept: the rows that fields hold.
        origins: for each row of the adjoint the row of the program whose adjoint needs it.

    """

    forward: Dataflow
    active: frozenset[Ref]
    kept: Mapping[Ref, Input]
    origins: Mapping[Ref, Ref]


def explained(adjoint: Dataflow, told: Told, program: Dataflow) -> str:
    """Return a line for each value of the program, and the fields that must move."""
    texts = [
        line.partition(" = ")[2].partition(" : ")[0]
        for line in dataflow_text.show(told.forward, (), ()).splitlines()
        if line.startswith("%")
    ]
    live = frozenset(
        reachable(adjoint.values, (s.value for each in adjoint.statements for s in each.stores))
    )
    roots = (store.value for each in told.forward.statements for store in each.stores)
    users = _users(adjoint, told, live)
    lines = []
    for row in reachable(told.forward.values, roots):
        state = "active" if row in told.active else "not active"
        how = _how(told, row, row in live, sorted(users.get(row, ())))
        lines.append(f"%{row:<4} {texts[row]:{ROOM}} {state}{how}".rstrip())
    return "\n".join((*lines, *_fields(adjoint, program))) + "\n"


def _how(told: Told, row: Ref, is_live: bool, users: Sequence[Ref]) -> str:
    value = told.forward.values[row]
    if not is_live or isinstance(value, Literal | Scalar):
        return ""
    done = "read" if isinstance(value, Input | Shift) else "computed again"
    done = f"kept in '{told.kept[row].name}'" if row in told.kept else done
    names = ", ".join(f"%{user}" for user in users)
    return f"; {done}{', for the adjoint of ' if users else ''}{names}"


def _users(adjoint: Dataflow, told: Told, live: frozenset[Ref]) -> dict[Ref, dict[Ref, None]]:
    """Return for each row of the program the rows whose partial derivatives read it."""
    found: dict[Ref, dict[Ref, None]] = {}
    for row, origin in told.origins.items():
        for operand in adjoint.values[row].operands if row in live else ():
            if operand not in told.origins:
                found.setdefault(operand, {})[origin] = None
    return found


def _fields(adjoint: Dataflow, forward: Dataflow) -> Iterator[str]:
    """Yield which fields the adjoint must read and write, and those of the program."""
    yield ""
    for name, program in (("The adjoint", adjoint), ("The program", forward)):
        stores = [store for each in program.statements for store in each.stores]
        rows = reachable(program.values, (store.value for store in stores))
        read = dict.fromkeys(
            value.name
            for value in map(program.values.__getitem__, rows)
            if isinstance(value, Input) and not value.version
        )
        written = dict.fromkeys(store.target for store in stores)
        count = len(read) + len(written)
        yield f"{name} moves {count} fields: reads {_names(read)}; writes {_names(written)}."


def _names(found: Mapping[str, None]) -> str:
    return ", ".join(found) or "none"
