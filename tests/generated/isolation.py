"""Check cases in a child process, so that one that crashes or hangs takes nothing else with it.

The parent runs no compiled code: a child that is forked from a process whose
OpenMP threads have started could never start its own.
"""

import json
import os
import select
import signal
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from .building import Schedule
from .case import Case
from .running import Disagreement, check, schedule_of

SILENCE = 600  # seconds without a word; on a busy machine the compiler is long silent


def check_apart(
    cases: Sequence[Case],
    schedules: Sequence[Schedule] | None = None,
    optimise: str = "-O1",
    until: str = "cpu",
) -> list[Disagreement]:
    """Run `check` in a child; a crash is a disagreement too, of the case that was running."""
    chosen = list(schedules or map(schedule_of, cases))
    rows, ending = in_child(lambda pipe: _report(pipe, cases, chosen, optimise, until))
    found = [
        Disagreement(cases[index], stage, what, chosen[index])
        for index, stage, what in (row for row in rows if len(row) == 3)
    ]
    if not ending:
        return found
    if len(cases) == 1:
        return [Disagreement(cases[0], "crash", ending, chosen[0])]
    # Memory may be damaged by one case and noticed in another, so each runs alone.
    pairs = zip(cases, chosen, strict=True)
    alone = [each for pair in pairs for each in check_apart([pair[0]], [pair[1]], optimise, until)]
    if any(each.stage == "crash" for each in alone):
        return alone
    last = max((row[0] for row in rows if len(row) == 1), default=0)
    return [*alone, Disagreement(cases[last], "crash", f"{ending} (together only)", chosen[last])]


def in_child(report: Callable[[TextIO], None]) -> tuple[list[Any], str]:
    """Return the rows that a child wrote, and how it ended if that was not well."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _end_with(writing, report)
    os.close(writing)
    try:
        text, hung = _read(reading)
    except BaseException:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        raise
    finally:
        os.close(reading)
    if hung:
        os.kill(process, signal.SIGKILL)
    status = os.waitpid(process, 0)[1]
    rows = [json.loads(line) for line in text.splitlines() if line.endswith("]")]
    if hung:
        return rows, "runs too long"
    if os.WIFSIGNALED(status):
        return rows, f"ends by {signal.Signals(os.WTERMSIG(status)).name}"
    return rows, "" if os.WEXITSTATUS(status) == 0 else "the checker itself failed"


def _report(
    pipe: TextIO, cases: Sequence[Case], schedules: Sequence[Schedule], optimise: str, until: str
) -> None:
    """Check in this process, which is the child."""

    def entering(index: int) -> None:
        print(json.dumps([index]), file=pipe, flush=True)

    for found in check(cases, schedules, optimise, entering, until):
        index = next(i for i, case in enumerate(cases) if case is found.case)
        print(json.dumps([index, found.stage, found.what]), file=pipe, flush=True)


def _end_with(writing: int, report: Callable[[TextIO], None]) -> None:
    """Report in this process, which is the child, and end it."""
    status = 1
    try:
        with os.fdopen(writing, "w") as pipe:
            report(pipe)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def _read(reading: int) -> tuple[str, bool]:
    """Return all that comes, and whether it took too long."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reading], [], [], SILENCE)
        if not ready:
            return b"".join(parts).decode(), True
        part = os.read(reading, 1 << 16)
        if not part:
            return b"".join(parts).decode(), False
        parts.append(part)
