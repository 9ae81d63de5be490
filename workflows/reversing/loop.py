"""`reversed_loop`: a cost of a run of many steps, and its gradient, with checkpoints."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ...runtime.process import ArgumentError, DerivativeError, classes
from .carried import Carried
from .gradient_run import NAMES, Run
from .schedules import (
    DISK,
    MEMORY,
    Checkpoints,
    actions_of,
    forward_steps,
)
from .states import Memory, Room, States, copied, folder_of

_Observe: TypeAlias = Callable[[int, int], None]  # the steps made, and all steps
_Progress: TypeAlias = _Observe | Literal["auto"] | None
Cost: TypeAlias = Callable[..., tuple[float, Mapping[str, Any]]]


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
    constant: Sequence[str] = (),
    checkpoints: Checkpoints = None,
    on_disk: int = 0,
    folder: str | Path | None = None,
    progress: _Progress = "auto",
) -> ReversedLoop:
    """Return what computes a cost of a loop of steps, and its gradient with respect to the start.

    A call, `loop(steps=480, now=h0)`, gives the sum of the costs and the gradient by the names of
    slots: with respect to the state at the start, and to the fields that `wrt` names. Where the
    start is an array of xarray, so is the gradient, with its coordinates and with units for a cost
    without one. The loop works in the fields of the recording, and no state is copied in memory. On
    ranks the cost is one number for all, and gradients are those of the points that a rank owns.

    Args:
        step: a recorded step. All that it reads before it writes it is state or constant.
        carry: which slot holds after a step what another one holds before the next, such as
            `{"new": "now"}`; the names of slots that steps change in place are enough.
        cost: gets the number of steps that were made and the state, by the slots in which steps
            read it and which it must not change; returns a number, and its gradient by these names
            (what is missing is 0), as `ff.gradient` gives them.
        at: after which steps there is a cost; by default after the last one.
        wrt: slots beside the state whose gradient is wanted; steps do not write them.
        constant: parameters of the programs whose fields never change, as for `step.adjoint`.
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
    back = step.adjoint(wrt=(*before, *wrt), of=tuple(pairs), constant=constant, names=NAMES)
    hidden = back.hidden(before)
    if hidden:
        raise DerivativeError(
            f"The step reads a field, {hidden[0]!r}, before it writes it, so it is a part of "
            "the state.",
            hint="Name it in 'ff.record(...)' and in 'carry'.",
        )
    return ReversedLoop(
        step, back, back.carried(pairs), pairs, cost, None if at is None else frozenset(at),
        tuple(wrt), checkpoints, on_disk, None if folder is None else Path(folder), progress,
        Memory(), {name: Memory(copied) for name in before},
    )  # fmt: skip


@classes.frozen(eq=False, slots=False)
class ReversedLoop:
    """Computes a cost of a loop and its gradient; `reversed_loop` makes it."""

    step: Any
    back: Any
    carried: Carried = classes.field(repr=False)
    pairs: Mapping[str, str]
    cost: Cost
    at: frozenset[int] | None
    wrt: tuple[str, ...]
    checkpoints: Checkpoints
    on_disk: int
    folder: Path | None
    progress: _Progress
    memory: Memory = classes.field(repr=False)
    rooms: Mapping[str, Memory] = classes.field(repr=False)
    reports: list[LoopReport] = classes.field(factory=list, repr=False)

    @property
    def report(self) -> LoopReport:
        """What the latest gradient took."""
        return self.reports[-1]

    @property
    def bytes(self) -> int:
        """The memory that gradients have taken so far: states, adjoints, what steps keep apart."""
        own = sum(each.bytes for each in (self.memory, *self.rooms.values()))
        return own + self.carried.bytes

    @cached_property
    def is_in_place(self) -> bool:
        """Whether a state that is not kept is best changed in place."""
        return self.carried.copies and all(name == other for name, other in self.pairs.items())

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
        for number in sorted(self.at or ()):
            if not 0 <= number <= steps:
                raise ArgumentError(f"There is a cost after {number} steps, and a run has {steps}.")
        actions = actions_of(steps, self.checkpoints, self.on_disk)
        total = forward_steps(actions) + steps
        with (
            folder_of(actions, self.folder) as folder,
            _shown(self.progress, total) as tell,
        ):
            states = self._states(folder)
            run = Run(self, steps, states, tell)
            run.begin(start)
            for each in actions:
                run.do(each)
        self.reports[:] = [LoopReport(total - steps, steps, states.most[MEMORY], states.most[DISK])]
        found = run.gradient()
        return math.fsum(run.values), {
            name: _named(field, name, start.get(name)) for name, field in found.items()
        }

    def _states(self, folder: Path | None) -> States:
        slots = self.step.slots
        rooms = {
            before: Room(self.rooms[before].pool(), slots[after])
            for after, before in self.pairs.items()
        }
        return States(rooms, {name: slots[name] for name in rooms}, folder)


def _named(field: Any, name: str, start: Any) -> Any:
    """Return a gradient like the array of xarray that it belongs to; otherwise the field.

    It keeps dimensions and coordinates. Its units are those of a cost that has none.
    """
    if not hasattr(start, "coords"):
        return field
    made = start.copy(data=field.asnumpy())
    made.name = f"dJ_d{name}"
    own, units = start.attrs.get("long_name", name), start.attrs.get("units")
    made.attrs = {"long_name": f"derivative of the cost by {own}"}
    if units is not None:
        made.attrs["units"] = f"({units})-1"
    return made


@contextmanager
def _shown(progress: _Progress, total: int) -> Iterator[Callable[[int], None]]:
    """Yield what is told the steps made; 'auto' draws a bar if there is a terminal."""
    if progress is None or (progress == "auto" and not sys.stderr.isatty()):
        yield lambda _: None
        return
    if progress != "auto":
        yield lambda done: progress(done, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns: Any = ("gradient", BarColumn(), MofNCompleteColumn(), "steps", TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("gradient", total=total)
        yield lambda done: bar.update(task, completed=done)
