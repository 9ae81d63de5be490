"""A recorded step and its adjoint: from one state to the next in other memory, and back.

A step reads the state where it lies and writes the next one elsewhere, so that a state that is kept
for later is not copied. The plan of its adjoint says which calls run again, what is kept, and which
adjoints run: the calls run forwards once, from the values at entry; then their adjoints run in
reverse. Calls of programs are recorded the first time, and replayed then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias

from ...runtime.process import classes
from ..variants.builds import Variants
from .acts import Act, Slot, Wanted, copy
from .backward import Backward, Derived
from .constants import Constants
from .forward import Purpose, Save, forward
from .recorded_calls import Key
from .states import Memory

AFTER = "{} after"  # the place of a slot that is also read
BEFORE = "{} before"  # the adjoint of a slot before the step
MOST_READY = 1024  # pairs of fields for a state and the next one, which all lie in a loop's memory


class Carried:
    """A step between states, and its adjoint; `StepAdjoint.carried` makes it.

    Attributes:
        places: for each slot of the state after a step, the slot where it lies then: one that the
            step writes, or one of the state before.
        written: those that the step writes.

    """

    def __init__(
        self, wanted: Wanted, pairs: Mapping[str, str], rooms: Rooms, record: Record
    ) -> None:
        self._rooms, self._record = rooms, record
        keys = {name: key for key, name in wanted.slots.items()}
        state = frozenset(pairs.values())
        written = {each.key for call in wanted.calls for each in call.touched if each.written_by}
        self.places = {
            name: AFTER.format(name) if keys[name] in written and name in state else name
            for name in pairs
        }
        self.written = {name: place for name, place in self.places.items() if keys[name] in written}
        self._results: Mapping[Key, Any] = {
            keys[name]: Slot(place) for name, place in self.written.items()
        }
        self._kept = frozenset(wanted.wrt)
        # each adjoint of the state has two places, that of the others is added to
        self._wanted = classes.evolve(
            wanted,
            wrt={
                key: BEFORE.format(name) if wanted.slots[key] in state else name
                for key, name in wanted.wrt.items()
            },
            of=dict(wanted.of)
            | {key: name for key, name in wanted.wrt.items() if wanted.slots[key] not in state},
            spare=frozenset(wanted.of.values()),
        )

    @property
    def bytes(self) -> int:
        """The memory for what is kept apart and for adjoints within a step."""
        return self._rooms.bytes

    @cached_property
    def step(self) -> Replay:
        """From a state to the next one."""
        purpose = Purpose(self._results, {}, self._kept)
        return self._replay(forward(self._wanted, self._rooms.copies.pool(), purpose).acts)

    @cached_property
    def copies(self) -> bool:
        """Whether the step copies a state that it changes in part."""
        return any(act.run is copy for act in self.step.acts)

    @cached_property
    def back(self) -> Replay:
        """From the adjoint of a state to that of the state before it, which is given."""
        plan = adjoint_alone(self._wanted, self._rooms)
        return self._replay((*plan.forward, *plan.backward))

    @cached_property
    def halves(self) -> tuple[Replay, Replay]:
        """From a state to the next one, and from the adjoint of this to that of the former."""
        plan = plan_of(
            self._wanted, self._rooms, lambda needed: Purpose(self._results, needed, self._kept)
        )
        return self._replay(plan.forward), self._replay(plan.backward)

    def _replay(self, acts: Sequence[Act]) -> Replay:
        return Replay(acts, self._record, MOST_READY)


Record: TypeAlias = Callable[..., AbstractContextManager[Any]]
Part: TypeAlias = Callable[[Mapping[str, Any]], None]


class Replay:
    """Acts, one after the other; a call gives fields and numbers for their slots.

    `most_ready` choices of them stay ready, with the fields: on a GPU as graphs.
    """

    def __init__(self, acts: Sequence[Act], record: Record, most_ready: int = 8) -> None:
        self.acts = tuple(acts)
        self._is_built = False
        self._parts = [
            _recorded(list(group), record, most_ready) if native else _one_by_one(list(group))
            for native, group in groupby(acts, key=lambda act: act.is_native)
        ]

    def __call__(self, given: Mapping[str, Any]) -> None:
        """Do them all; the first time, build side by side what they call."""
        if not self._is_built:
            self._is_built = True
            for act in self.acts:
                variants = getattr(act.run, "_variants", None)
                if isinstance(variants, Variants):
                    variants.begin_awaited(act.values(given), act.provider)
        for part in self._parts:
            part(given)


def _one_by_one(acts: Sequence[Act]) -> Part:
    def run(given: Mapping[str, Any]) -> None:
        for act in acts:
            act.do(given)

    return run


def _recorded(acts: Sequence[Act], record: Record, most_ready: int) -> Part:
    used = dict.fromkeys(name for act in acts for name in act.slots())
    made: list[Any] = []

    def run(given: Mapping[str, Any]) -> None:
        slots = {name: given[name] for name in used}
        if made:
            made[0](**slots)
            return
        with record(**slots) as step:
            for act in acts:
                act.do(given)
        step.most_ready = most_ready
        made.append(step)

    return run


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
        constants: what never changes, along transposed tables.

    """

    copies: Memory = classes.field(factory=Memory)
    adjoints: Memory = classes.field(factory=Memory)
    derived: dict[Any, Derived] = classes.field(factory=dict)
    constants: Constants = classes.field(factory=Constants)

    @property
    def bytes(self) -> int:
        """All that was allocated."""
        return self.copies.bytes + self.adjoints.bytes + self.constants.bytes


Purposes = Callable[[Mapping[int, Set[Key]]], Purpose]


def plan_of(wanted: Wanted, rooms: Rooms, purpose: Purposes) -> Plan:
    """Plan an adjoint; `purpose` gets what adjoints read, by call."""
    backward = Backward(wanted, rooms.adjoints.pool(), rooms.derived, rooms.constants)
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
