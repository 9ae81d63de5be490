"""Schedules of checkpoints: when a loop steps forwards, keeps a state, takes one back, reverses.

Those of the package `checkpoint_schedules` are written for adjoints that need data of the forward
step; ours start from the state before it, so the forward step before each reverse one is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from ...runtime.process import ArgumentError, MissingPackageError, classes

WORK, MEMORY, DISK = "work", "memory", "disk"


@classes.frozen
class Forward:
    """Step from state `first` to state `last`."""

    first: int
    last: int


@classes.frozen
class Keep:
    """Keep a copy of the present state."""

    number: int
    place: str


@classes.frozen
class Take:
    """Copy a state that was kept to the fields of the loop, or elsewhere."""

    number: int
    source: str
    target: str
    forget: bool


@classes.frozen
class Reverse:
    """Reverse the steps from state `last` to state `first`."""

    last: int
    first: int


Action: TypeAlias = Forward | Keep | Take | Reverse
Checkpoints: TypeAlias = int | Callable[[int], Any] | None


def actions_of(steps: int, checkpoints: Checkpoints, on_disk: int) -> tuple[Action, ...]:
    """Return what to do for the gradient of a number of steps.

    Args:
        steps: of the loop.
        checkpoints: how many states memory may hold, None for all; or a function that makes a
            schedule of `checkpoint_schedules` for a number of steps.
        on_disk: how many states files may hold beside them.

    """
    if checkpoints is None or (isinstance(checkpoints, int) and checkpoints >= steps):
        return (*_keeping_all(0, steps, steps, MEMORY), Reverse(steps, 0))
    if callable(checkpoints):
        schedule = checkpoints(steps)
    else:
        if checkpoints < 0 or on_disk < 0 or not checkpoints + on_disk:
            raise ArgumentError(
                f"A loop needs at least one checkpoint, got {checkpoints} in memory and {on_disk} "
                "on disk."
            )
        schedule = _package().MultistageCheckpointSchedule(steps, checkpoints, on_disk)
    return tuple(_translated(schedule, steps))


def _package() -> Any:
    try:
        import checkpoint_schedules
    except ImportError:
        raise MissingPackageError(
            "Package 'checkpoint_schedules' is not installed.",
            hint="pip install 'fieldforge[adjoint]'; or keep all states, with 'checkpoints=None'.",
        ) from None
    return checkpoint_schedules


def _translated(schedule: Any, steps: int) -> Iterator[Action]:
    for each in schedule:
        match type(each).__name__:
            case "Forward":
                if each.n1 >= steps and schedule.max_n is None:
                    schedule.finalize(steps)
                yield from _forward(each, steps)
            case "Reverse":
                yield Reverse(each.n1, each.n0)
            case "Copy" | "Move" as kind:
                source, target = _storage(each.from_storage), _storage(each.to_storage)
                yield Take(each.n, source, target, kind == "Move")
            case "EndReverse":
                return


def _forward(each: Any, steps: int) -> Iterator[Action]:
    where, last = _storage(each.storage), min(each.n1, steps)
    if not each.write_adj_deps:
        if each.write_ics:
            yield Keep(each.n0, where)
        yield Forward(each.n0, min(last, steps - 1))
    elif where != WORK or last - each.n0 > 1:
        yield from _keeping_all(each.n0, last, steps, MEMORY if where == WORK else where)


def _keeping_all(first: int, last: int, steps: int, place: str) -> Iterator[Action]:
    """Keep the state before each step; the last step of all is a part of its reversal."""
    for number in range(first, last):
        yield Keep(number, place)
        if number < steps - 1:
            yield Forward(number, number + 1)


def _storage(kind: Any) -> str:
    return {"RAM": MEMORY, "DISK": DISK, "WORK": WORK}.get(kind.name, "")


def forward_steps(actions: Sequence[Action]) -> int:
    """Return how many steps forwards there are."""
    return sum(each.last - each.first for each in actions if isinstance(each, Forward))
