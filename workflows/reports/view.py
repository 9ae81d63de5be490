"""What a page shows of a build, as plain values: no engine, no store, no stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs


@attrs.frozen
class Feed:
    """An input of a stage: the port, and the stage that provides it; empty for the outside."""

    port: str
    source: str = ""


@attrs.frozen
class Decision:
    """What the scheduler decided, with its reason."""

    what: str
    reason: str


@attrs.frozen
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
    parts: Mapping[str, str] = attrs.field(factory=dict)
    listings: Mapping[str, str] = attrs.field(factory=dict)
    loops: str = ""


@attrs.frozen
class BuildView:
    """One build: a program, and its stages in the order in which they run."""

    title: str
    stages: tuple[StageView, ...]
    note: str = ""


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

    >>> decisions("kernel k\nnest 0  # stores out\n")
    (Decision(what='nest 0', reason='stores out'),)
    """
    found = []
    for line in loops.splitlines():
        what, mark, reason = line.partition("#")
        if mark and (not what or what.endswith(" ")):
            found.append(Decision(what.strip(), reason.strip()))
    return tuple(found)
