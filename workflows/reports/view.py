"""What a page shows of a build, as plain values: no engine, no store, no stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...runtime.process import classes


@classes.frozen
class Feed:
    """An input of a stage: the port, and the stage that provides it; empty for the outside."""

    port: str
    source: str = ""


@classes.frozen
class Decision:
    """What the scheduler decided, with its reason."""

    what: str
    reason: str


@classes.frozen
class StageView:
    """One stage of a build.

    Attributes:
        name: the name of the node.
        feeds: its inputs.
        ports: its outputs.
        outcome: where the result came from, such as 'ran' or 'disk'; empty if nothing was built.
        seconds: to get the result.
        build_seconds: to compute it, now or once.
        key: the digest under which the result is stored.
        why: in words, why it ran or where its result was found.
        text: the first output.
        kind: the class of the first output; stages of one kind are compared.
        parts: the labelled components of the key.
        listings: the IR after each pass.

    """

    name: str
    feeds: tuple[Feed, ...] = ()
    ports: tuple[str, ...] = ()
    outcome: str = ""
    seconds: float = 0.0
    build_seconds: float = 0.0
    key: str = ""
    why: str = ""
    text: str = ""
    kind: str = ""
    parts: Mapping[str, str] = classes.field(factory=dict)
    listings: Mapping[str, str] = classes.field(factory=dict)
    loops: str = ""


@classes.frozen
class MeasuredView:
    """A measured run, beside a copy of as many bytes.

    Attributes:
        seconds: the median of the seconds of a call.
        spread: the ratio of the upper to the lower quartile.
        read: bytes that a call reads at least.
        written: bytes that it writes at least.
        operations: operations on floats of a call.
        copy_rate: bytes a second that a copy of as many bytes reads and writes.
        machine: the processor or GPU, and the threads.
        shapes: the domains of the fields and the other arguments.

    """

    seconds: float
    spread: float
    read: int
    written: int
    operations: int
    copy_rate: float
    machine: str = ""
    shapes: str = ""

    @property
    def rate(self) -> float:
        """Bytes a second that a call moves at least."""
        return (self.read + self.written) / self.seconds

    @property
    def share(self) -> float:
        """The part of the rate of the copy that is reached."""
        return self.rate / self.copy_rate

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / max(self.read + self.written, 1)


@classes.frozen
class CallView:
    """One call of a recorded step: the program, and its arguments by name as text."""

    program: str
    arguments: Mapping[str, str]


@classes.frozen
class StepView:
    """A recorded step: its calls in order, and the fields that a replay may exchange."""

    title: str
    slots: tuple[str, ...]
    calls: tuple[CallView, ...]


@classes.frozen
class BuildView:
    """One build: a program, and its stages in the order in which they run.

    Attributes:
        title: the name of the program, and what tells the build from others.
        stages: may be empty where the build failed.
        note: what the reader must know first, such as an error or an exceeded budget.
        measured: a run of the program, if one was measured.

    """

    title: str
    stages: tuple[StageView, ...] = ()
    note: str = ""
    measured: MeasuredView | None = None

    @property
    def result(self) -> str:
        """Where the results came from, in a few words.

        >>> parse = StageView("parse", outcome="disk")
        >>> BuildView("p", (parse, StageView("lower", outcome="ran", parts={"x": "1"}))).result
        'lower ran'
        """
        ran = [stage.name for stage in self.stages if stage.outcome == "ran" and stage.parts]
        if not self.stages:
            return "not built"
        return f"{', '.join(ran)} ran" if ran else "all found"

    @property
    def reason(self) -> str:
        """Why the first stage with a key ran; empty if none did."""
        ran = (stage.why for stage in self.stages if stage.outcome == "ran" and stage.parts)
        return next(ran, "")


def outline(plan: Sequence[Any]) -> tuple[StageView, ...]:
    """Return the stages of the plan of a workflow, of which nothing is built."""
    return tuple(
        StageView(
            step.name,
            tuple(Feed(feed.port, feed.source or "") for feed in step.feeds),
            tuple(step.stage.provides),
        )
        for step in plan
    )


def decisions(loops: str) -> tuple[Decision, ...]:
    r"""Return the decisions in a listing of loops: what stands before and after a `#`.

    >>> decisions("kernel k\n  step 0\n    nest n0 group 0  # stores out\n")
    (Decision(what='nest n0 group 0', reason='stores out'),)
    """
    found = []
    for line in loops.splitlines():
        what, mark, reason = line.partition("#")
        if mark and (not what or what.endswith(" ")):
            found.append(Decision(what.strip(), reason.strip()))
    return tuple(found)
