"""One gradient of a loop: its present state, the adjoint of that, and what actions do to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...runtime.fields.allocation import copy_in, fill
from ...stages.adjoint.names import partner
from .acts import add
from .memory import Pool, copied
from .recorded_calls import is_field
from .schedules import WORK, Action, Forward, Keep, Reverse, Take
from .states import States

NAMES = "{}_b"


class Run:
    """One gradient: the fields of the present state, and the adjoint of it."""

    def __init__(
        self,
        loop: Any,
        steps: int,
        states: States,
        tell: Callable[[int], None],
        pool: Pool,
    ) -> None:
        self.values: list[float] = []
        self._loop, self._steps, self._states, self._tell = loop, steps, states, tell
        self._at = frozenset([steps]) if loop.at is None else loop.at
        self._fields = dict(loop.step.slots)
        names = {*loop.pairs, *loop.pairs.values(), *loop.wrt}
        self._adjoints = {name: pool.take(self._fields[name]) for name in names}
        self._totals = {name: pool.take(self._fields[name]) for name in loop.wrt}
        self._number = 0  # of the present state
        self._done = 0

    def begin(self, start: Mapping[str, Any]) -> None:
        """Copy the start into the fields of the step; nothing moves the cost so far."""
        for name, value in start.items():
            copy_in(self._fields[name], value.ndarray if is_field(value) else np.asarray(value))
        for field in (*self._adjoints.values(), *self._totals.values()):
            fill(field, 0.0)

    def do(self, action: Action) -> None:
        """Do one thing of a schedule."""
        match action:
            case Forward(first, last):
                for _ in range(first, last):
                    self._step()
            case Keep(number, place):
                self._states.keep(number, place, self._state())
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
        own = {name: self._adjoints[name] for name in self._loop.pairs.values()} | self._totals
        return {name: copied(field) for name, field in own.items()}

    def _state(self) -> dict[str, Any]:
        return {name: self._fields[name] for name in self._loop.pairs.values()}

    def _step(self) -> None:
        self._loop.step(**self._fields)
        self._exchange(self._fields)
        self._number += 1
        self._made_one()

    def _take(self, number: int, source: str, target: str) -> None:
        self._states.take(number, source, self._state())
        self._number = number
        if target != WORK:
            self._states.keep(number, target, self._state())

    def _find(self, number: int) -> None:
        """Make a state the present one; it was kept if it is not."""
        place = self._states.place_of(number)
        if self._number != number:
            self._take(number, place, WORK)
        self._states.forget(number, place)

    def _reverse(self, number: int) -> None:
        """Go from the adjoint of the state after a step to that of the state before it."""
        loop, fields = self._loop, self._fields
        costs = self._cost(number) if number in self._at else {}
        is_last = number == self._steps - 1 and self._steps in self._at
        if is_last:
            loop.back.forward(**fields)
            self._exchange(fields)
            self._add(self._cost(self._steps))
            self._exchange(fields)
        self._exchange(self._adjoints)
        given = fields | {partner(name, NAMES): each for name, each in self._adjoints.items()}
        (loop.back.backward if is_last else loop.back)(**given)
        self._number = -1
        for name, total in self._totals.items():
            add(total, self._adjoints[name])
        self._add(costs)
        self._made_one()

    def _exchange(self, fields: dict[str, Any]) -> None:
        """Exchange what is before and after a step."""
        before = {name: fields[other] for other, name in self._loop.pairs.items()}
        after = {other: fields[name] for other, name in self._loop.pairs.items()}
        fields.update(after | before)

    def _cost(self, number: int) -> Mapping[str, Any]:
        found: Mapping[str, Any]
        value, found = self._loop.cost(number, **self._state())
        self.values.append(float(value))
        return found

    def _add(self, found: Mapping[str, Any]) -> None:
        for name, field in found.items():
            add((self._totals if name in self._totals else self._adjoints)[name], field)

    def _made_one(self) -> None:
        self._done += 1
        self._tell(self._done)
