"""One gradient of a loop: its present state, the adjoint of that, and what actions do to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ...runtime.fields import copy_in, fill
from ...stages.adjoint.names import partner
from .acts import add
from .carried import BEFORE
from .recorded_calls import is_field
from .schedules import WORK, Action, Forward, Keep, Reverse, Take
from .states import State, States, copied

NAMES = "{}_b"


class Run:
    """One gradient: the present state, and the adjoint of it.

    States are never copied in memory: a step reads one and writes the next one elsewhere. So do
    adjoints, which have two places by turns.
    """

    def __init__(self, loop: Any, steps: int, states: States, tell: Callable[[int], None]) -> None:
        self.values: list[float] = []
        self._loop, self._steps, self._states, self._tell = loop, steps, states, tell
        self._at = frozenset([steps]) if loop.at is None else loop.at
        self._fields = dict(loop.step.slots)
        pool = loop.memory.pool()
        state, others = loop.pairs.values(), loop.wrt

        def like(names: Iterable[str]) -> State:
            return {name: pool.take(self._fields[name]) for name in names}

        self._adjoints, self._before, self._totals = like(state), like(state), like(others)
        self._number = 0  # of the present state
        self._present: State = {name: self._fields[name] for name in state}
        self._done = 0

    def begin(self, start: Mapping[str, Any]) -> None:
        """Copy the start into the fields of the step; nothing moves the cost so far."""
        for name, value in start.items():
            copy_in(self._fields[name], value.ndarray if is_field(value) else np.asarray(value))
        for field in (*self._adjoints.values(), *self._totals.values()):
            fill(field, 0.0)
        self._states.hold(self._present)

    def do(self, action: Action) -> None:
        """Do one thing of a schedule."""
        match action:
            case Forward(first, last):
                for _ in range(first, last):
                    self._step()
            case Keep(number, place):
                self._states.keep(number, place, self._present)
            case Take(number, source, target, forget):
                if target:
                    self._take(number, source, target)
                if forget:
                    self._states.forget(number, source)
            case Reverse(last, first):
                for number in reversed(range(first, last)):
                    self._find(number)
                    self._reverse(number)

    def gradient(self) -> dict[str, Any]:
        """Return the gradient in new fields."""
        return {name: copied(field) for name, field in (self._adjoints | self._totals).items()}

    def _step(self) -> None:
        loop = self._loop
        if loop.is_in_place and self._states.is_free(self._present):
            loop.step(**self._fields | self._present)
        else:
            self._exchange(self._after(loop.carried.step, self._rooms()))
        self._number += 1
        self._made_one()

    def _rooms(self) -> State:
        """Return places for the next state, by the names that a step has for them."""
        carried, pairs = self._loop.carried, self._loop.pairs
        return {place: self._states.room(pairs[name]) for name, place in carried.written.items()}

    def _after(self, step: Callable[[Mapping[str, Any]], None], rooms: State) -> State:
        """Make a step from the present state; return the next one."""
        given = self._fields | self._present | rooms
        step(given)
        pairs = self._loop.pairs
        return {pairs[name]: given[place] for name, place in self._loop.carried.places.items()}

    def _exchange(self, state: State) -> None:
        """Make a state the present one."""
        self._states.hold(state)
        self._states.release(self._present)
        self._present = state

    def _take(self, number: int, source: str, target: str) -> None:
        if self._number != number:
            self._exchange(self._states.take(number, source))
            self._number = number
        if target != WORK:
            self._states.keep(number, target, self._present)

    def _find(self, number: int) -> None:
        """Make a state the present one; it was kept if it is not."""
        place = self._states.place_of(number)
        self._take(number, place, WORK)
        self._states.forget(number, place)

    def _reverse(self, number: int) -> None:
        """Go from the adjoint of the state after a step to that of the state before it."""
        carried = self._loop.carried
        costs = self._cost(number, self._present) if number in self._at else {}
        back, rooms = carried.back, dict[str, Any]()
        if number == self._steps - 1 and self._steps in self._at:
            (step, back), rooms = carried.halves, self._rooms()
            self._add(self._cost(self._steps, self._after(step, rooms)))
        back(self._fields | self._present | self._partners() | rooms)
        self._states.hold(rooms)
        self._states.release(rooms)
        self._adjoints, self._before = self._before, self._adjoints
        self._add(costs)
        self._made_one()

    def _partners(self) -> dict[str, Any]:
        """Return the adjoints by the names that a step backwards has for them."""
        after = {name: self._adjoints[before] for name, before in self._loop.pairs.items()}
        before = {BEFORE.format(partner(name, NAMES)): f for name, f in self._before.items()}
        return {partner(name, NAMES): f for name, f in (self._totals | after).items()} | before

    def _cost(self, number: int, state: State) -> Mapping[str, Any]:
        found: Mapping[str, Any]
        value, found = self._loop.cost(number, **state)
        self.values.append(float(value))
        return found

    def _add(self, found: Mapping[str, Any]) -> None:
        for name, field in found.items():
            add((self._totals if name in self._totals else self._adjoints)[name], field)

    def _made_one(self) -> None:
        self._done += 1
        self._tell(self._done)
