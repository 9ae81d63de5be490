"""Plan the adjoint of a recorded step: which calls run again, what is kept, which adjoints run.

The calls run forwards once, from the values at entry; then their adjoints run in reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

from ...runtime.process import classes
from .acts import Act, Wanted
from .backward import Backward, Derived
from .forward import Purpose, Save, forward
from .recorded_calls import Key
from .states import Memory


@classes.frozen(eq=False)
class Plan:
    """What the adjoint of a step does: forwards, and backwards."""

    forward: tuple[Act, ...]
    backward: tuple[Act, ...]
    saves: tuple[Save, ...]


@classes.frozen(eq=False)
class Rooms:
    """Memory that plans share, and the adjoints that were derived.

    Attributes:
        copies: for what adjoints read and the step overwrites.
        adjoints: for adjoints between calls.
        derived: the adjoints of programs.

    """

    copies: Memory = classes.field(factory=Memory)
    adjoints: Memory = classes.field(factory=Memory)
    derived: dict[Any, Derived] = classes.field(factory=dict)

    @property
    def bytes(self) -> int:
        """All that was allocated."""
        return self.copies.bytes + self.adjoints.bytes


Purposes = Callable[[Mapping[int, Set[Key]]], Purpose]


def plan_of(wanted: Wanted, rooms: Rooms, purpose: Purposes) -> Plan:
    """Plan an adjoint; `purpose` gets what adjoints read, by call."""
    backward = Backward(wanted, rooms.adjoints.pool(), rooms.derived)
    backward.plan()
    steps = forward(wanted, rooms.copies.pool(), purpose(backward.needed))
    return Plan(
        tuple(steps.acts),
        tuple(steps.resolved(each) for each in backward.acts),
        tuple(steps.saves),
    )


def adjoint_alone(wanted: Wanted, rooms: Rooms) -> Plan:
    """Plan an adjoint that makes only calls whose results it reads, and leaves `wrt` as it is."""
    kept = frozenset(wanted.wrt)
    return plan_of(wanted, rooms, lambda needed: Purpose({}, needed, kept))


def whole_step(wanted: Wanted, rooms: Rooms) -> Plan:
    """Plan an adjoint that makes all calls, whose results are where the step has them."""
    written = {
        each.key: wanted.place(each.field)
        for call in wanted.calls
        for each in call.touched
        if each.written_by
    }
    return plan_of(wanted, rooms, lambda needed: Purpose(written, needed, whole=True))
