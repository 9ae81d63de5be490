"""`reversed_loop`: a cost of a run of many steps, and its gradient, with checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ...runtime.fields.allocation import copy_in, fill
from ...runtime.process import classes
from ...runtime.process.errors import ArgumentError, DerivativeError
from ...stages.adjoint.names import partner
from .acts import add
from .memory import Memory, Pool, copied
from .named_gradients import named
from .progress import Progress, shown
from .recorded_calls import is_field
from .schedules import (
    DISK,
    MEMORY,
    WORK,
    Action,
    Checkpoints,
    Forward,
    Keep,
    Reverse,
    Take,
    actions_of,
    forward_steps,
)
from .states import States, kept_states

Cost: TypeAlias = Callable[..., tuple[float, Mapping[str, Any]]]
NAMES = "{}_b"


@classes.frozen
class LoopReport:
    """What a gradient took.

    Attributes:
        forward_steps: the steps beside those that were reversed.
        reversed_steps: the steps that were reversed, each of which also steps forwards.
        states_in_memory: how many states memory held at once.
        states_on_disk: how many files held at once.

    """

    forward_steps: int
    reversed_steps: int
    states_in_memory: int
    states_on_disk: int


def reversed_loop(
    step: Any,
    *,
    carry: Mapping[str, str] | Sequence[str],
    cost: Cost,
    at: Collection[int] | None = None,
    wrt: Sequence[str] = (),
    checkpoints: Checkpoints = None,
    on_disk: int = 0,
    folder: str | Path | None = None,
    progress: Progress = "auto",
) -> ReversedLoop:
    """Return what computes a cost of a loop of steps, and its gradient with respect to the start.

    A call, `loop(steps=480, now=h0)`, gives the sum of the costs and the gradient by the names of
    slots: with respect to the state at the start, and to the fields that `wrt` names. Where the
    start is an array of xarray, so is the gradient, with its coordinates and with units for a cost
    without one. The loop works in the fields of the recording.

    Args:
        step: a recorded step. All that it reads before it writes it is state or constant.
        carry: which slot holds after a step what another one holds before the next, such as
            `{"new": "now"}`; the names of slots that steps change in place are enough.
        cost: gets the number of steps that were made and the state, by the slots in which steps
            read it; returns a number, and its gradient by these names (what is missing is 0), as
            `ff.gradient` gives them.
        at: after which steps there is a cost; by default after the last one.
        wrt: slots beside the state whose gradient is wanted; steps do not write them.
        checkpoints: how many states memory may hold, None for those of all steps; or a function
            of the number of steps that makes a schedule of the package `checkpoint_schedules`.
        on_disk: how many states files may hold beside them.
        folder: where these files are, a temporary folder by default.
        progress: 'auto' shows a bar on a terminal; a function gets the steps made and all steps.

    Raises:
        ArgumentError: a name is no slot.
        DerivativeError: the step carries a field over that is no state, or has no adjoint.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def squared(u: Line) -> Line:
    ...     return u * u
    >>> @ff.program(backend=ff.cpu)
    ... def square(u: Line, out: Line):
    ...     squared(u, out=out)
    >>> a, b = ff.ones({I: 2}), ff.ones({I: 2})
    >>> with ff.record(now=a, new=b) as step:
    ...     square(a, b)
    >>> def total(number, now):
    ...     return float(ff.sum(now)), {"now": ff.ones({I: 2})}
    >>> loop = ff.reversed_loop(step, carry={"new": "now"}, cost=total)
    >>> value, found = loop(steps=3, now=ff.full({I: 2}, 1.1))
    >>> round(value, 6), found["now"].asnumpy().round(6)
    (4.287178, array([15.589737, 15.589737]))
    """
    pairs = dict(carry) if isinstance(carry, Mapping) else {name: name for name in carry}
    for name in (*pairs, *pairs.values(), *wrt):
        if name not in step.slots:
            raise ArgumentError(
                f"'{name}' is no slot of the step.", hint="Name it in 'ff.record(...)'."
            )
    before = tuple(pairs.values())
    back = step.adjoint(wrt=(*before, *wrt), of=tuple(pairs), names=NAMES)
    hidden = back.hidden(before)
    if hidden:
        raise DerivativeError(
            f"The step reads a field, {hidden[0]!r}, before it writes it, so it is a part of "
            "the state.",
            hint="Name it in 'ff.record(...)' and in 'carry'.",
        )
    return ReversedLoop(
        step, back, pairs, cost, None if at is None else frozenset(at), tuple(wrt), checkpoints,
        on_disk, None if folder is None else Path(folder), progress, Memory(),
    )  # fmt: skip


@classes.frozen(eq=False)
class ReversedLoop:
    """Computes a cost of a loop and its gradient; `reversed_loop` makes it."""

    step: Any
    back: Any
    pairs: Mapping[str, str]
    cost: Cost
    at: frozenset[int] | None
    wrt: tuple[str, ...]
    checkpoints: Checkpoints
    on_disk: int
    folder: Path | None
    progress: Progress
    memory: Memory = classes.field(repr=False)
    reports: list[LoopReport] = classes.field(factory=list, repr=False)

    @property
    def report(self) -> LoopReport:
        """What the latest gradient took."""
        return self.reports[-1]

    def __call__(self, *, steps: int, **start: Any) -> tuple[float, dict[str, Any]]:
        """Return the cost of some steps from a start, and its gradient."""
        names = (*self.pairs.values(), *self.wrt)
        for name in self.pairs.values():
            if name not in start:
                raise ArgumentError(f"The loop needs the start of '{name}'.")
        for name in start:
            if name not in names:
                raise ArgumentError(
                    f"The loop takes no '{name}'.", hint=f"It takes steps, {', '.join(names)}."
                )
        if steps < 1:
            raise ArgumentError(f"A loop takes at least one step, got {steps}.")
        actions = actions_of(steps, self.checkpoints, self.on_disk)
        total, pool = forward_steps(actions) + steps, self.memory.pool()
        with (
            kept_states(pool, actions, self.folder) as states,
            shown(self.progress, total) as tell,
        ):
            run = _Run(self, steps, states, tell, pool)
            run.begin(start)
            for each in actions:
                run.do(each)
        self.reports[:] = [LoopReport(total - steps, steps, states.most[MEMORY], states.most[DISK])]
        found = run.gradient()
        return math.fsum(run.values), {
            name: named(field, name, start.get(name)) for name, field in found.items()
        }


class _Run:
    """One gradient: the fields of the present state, and the adjoint of it."""

    def __init__(
        self,
        loop: ReversedLoop,
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
        value, found = self._loop.cost(number, **self._state())
        self.values.append(float(value))
        return found

    def _add(self, found: Mapping[str, Any]) -> None:
        for name, field in found.items():
            add((self._totals if name in self._totals else self._adjoints)[name], field)

    def _made_one(self) -> None:
        self._done += 1
        self._tell(self._done)
