"""Events of a workflow run, as values, and observers that receive them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from ...runtime.process import classes, get_logger

Outcome: TypeAlias = Literal["ran", "memory", "disk", "deep"]


def _here() -> tuple[int, int]:
    return os.getpid(), threading.get_native_id()


@classes.frozen(kw_only=True)
class Moment:
    """The time of an event, in seconds since 1970, and its process and thread.

    Events of worker processes keep theirs; equality ignores it.
    """

    at: float = classes.field(factory=time.time, eq=False, repr=False)
    place: tuple[int, int] = classes.field(factory=_here, eq=False, repr=False)


@classes.frozen
class Started(Moment):
    """A stage started."""

    program: str
    stage: str
    key: str


@classes.frozen
class Hit(Moment):
    """The result of a stage was found; `outcome` says where."""

    program: str
    stage: str
    key: str
    outcome: Outcome
    seconds: float


@classes.frozen
class Finished(Moment):
    """A stage finished."""

    program: str
    stage: str
    key: str
    seconds: float


@classes.frozen
class Failed(Moment):
    """A stage raised an error."""

    program: str
    stage: str
    key: str
    error: BaseException
    seconds: float


@classes.frozen
class Warned(Moment):
    """A warning: something costs time or misses the cache."""

    program: str
    stage: str
    message: str


@classes.frozen
class Dumped(Moment):
    """The text of an artifact was written to a file."""

    program: str
    stage: str
    path: str


@classes.frozen
class TierChanged(Moment):
    """Calls of a variant take compiled code from now on; the first tier ran those before."""

    program: str
    stage: str  # that made the entry
    variant: str
    calls: int
    seconds: float


Event: TypeAlias = Started | Hit | Finished | Failed | Warned | Dumped | TierChanged
Observer: TypeAlias = Callable[[Event], None]

NAMES = {
    Started: "stage.started",
    Hit: "stage.hit",
    Finished: "stage.finished",
    Failed: "stage.failed",
    Warned: "stage.warned",
    Dumped: "stage.dumped",
    TierChanged: "tier.changed",
}
LEVELS = {Failed: "error", Warned: "warning", Dumped: "info", TierChanged: "info"}


def log_event(event: Event) -> None:
    """Log an event: failures as errors, stages at debug level."""
    level, logger = LEVELS.get(type(event), "debug"), get_logger()
    if logger.listens(level):
        shown = (field.name for field in classes.fields(type(event)) if field.eq)
        facts = {name: getattr(event, name) for name in shown}
        getattr(logger, level)(NAMES[type(event)], **facts)


@classes.define
class Collector:
    """Collects every event; thread safe.

    >>> seen = Collector()
    >>> seen(Started("p", "lower", "3fa9"))
    >>> [type(event).__name__ for event in seen.events]
    ['Started']
    """

    events: list[Event] = classes.field(factory=list)

    def __call__(self, event: Event) -> None:
        """Collect an event."""
        self.events.append(event)

    def ran(self, stage: str | None = None) -> tuple[str, ...]:
        """Return the names of the stages that ran, in order, or the runs of one."""
        return tuple(
            event.stage
            for event in self.events
            if isinstance(event, Finished) and stage in (None, event.stage)
        )
