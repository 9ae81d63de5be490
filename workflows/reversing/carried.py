"""A recorded step for a loop: from one state to the next in other memory, and back.

A step reads the state where it lies and writes the next one elsewhere, so that a state that is kept
for later is not copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ...runtime.process import classes
from .acts import Act, Slot, Wanted, copy
from .forward import Purpose, forward
from .plan import Rooms, adjoint_alone, plan_of
from .recorded_calls import Key
from .replay import Record, Replay

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
