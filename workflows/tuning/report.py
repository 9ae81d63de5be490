"""What a tuning found: a report with a table, and the progress while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from ...runtime.process import classes
from ..options.usage import shown
from .candidates import Choice
from .search import Trial, ignore
from .verdict import Verdict

Watch: TypeAlias = Callable[[Trial], None] | Literal["auto"] | None
START: Final = "the start"


@classes.frozen
class Report:
    """The result of a tuning.

    Attributes:
        program: 'module:name'.
        backend: the name of the backend.
        options: the best options, those that differ from the start; empty if nothing beat noise.
        verdict: the call with them compared with the call without; None without options.
        trials: everything that was tried, in order.
        file: where the options are kept; None if they are not.
        is_over: whether the budget ended the search; else nothing was left to try.
        is_logged: whether a next run knows the trials, and goes on from there.

    """

    program: str
    backend: str
    options: Choice
    verdict: Verdict | None
    trials: tuple[Trial, ...]
    file: Path | None = None
    is_over: bool = False
    is_logged: bool = False

    @property
    def gain(self) -> float:
        """How many times faster a call is; 1.0 if nothing beat noise."""
        return self.verdict.gain if self.options and self.verdict is not None else 1.0

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """What each trial changed, the options that it was compared with, and its finding."""
        return [
            (listed(each.changes), listed(each.before) or START, found(each))
            for each in self.trials
        ]

    @property
    def summary(self) -> str:
        """The finding in one sentence or two."""
        again = "; a next run goes on" if self.is_logged else ""
        end = f" The budget ended the search{again}." if self.is_over else ""
        if not self.options or self.verdict is None:
            is_lost = any(each.verdict and each.verdict.is_better for each in self.trials)
            lost = " What looked faster was not when measured for longer." if is_lost else ""
            return f"Nothing that was tried on '{self.program}' is faster than noise.{lost}{end}"
        place = f" Kept in {self.file}." if self.file is not None else ""
        gain = f"{self.verdict} times faster with {listed(self.options)}"
        return f"'{self.program}' is {gain}.{place}{end}"

    def __str__(self) -> str:
        if not self.trials:
            return self.summary
        width = max(len(options) for options, _, _ in self.rows)
        lines = [f"{options:<{width}}  {said}" for options, _, said in self.rows]
        return "\n".join([*lines, self.summary])


def listed(options: Choice) -> str:
    """Return options as a file would set them.

    >>> listed((("codegen.jam", False),))
    'codegen.jam = false'
    """
    return ", ".join(f"{name} = {shown(value)}" for name, value in options)


def found(trial: Trial) -> str:
    """Say what a trial found.

    >>> found(Trial((), (("codegen.jam", False),), Verdict(0.8, 0.01)))
    'faster: 1.250 ± 0.013 times as fast'
    >>> found(Trial((), (("codegen.jam", False),), Verdict(1.001, 0.01)))
    'no difference beyond noise: 0.999 ± 0.010 times as fast'
    """
    verdict = trial.verdict
    if verdict is None:
        return f"refused: {trial.said}"
    words = "faster" if verdict.is_better else "slower" if verdict.is_worse else ""
    again = f" ({trial.said})" if trial.said else ""
    return f"{words or 'no difference beyond noise'}: {verdict} times as fast{again}"


@contextmanager
def watching(
    watch: Watch, left: Callable[[], float], budget: float
) -> Iterator[Callable[..., None]]:
    """Yield a function that tells of each trial; 'auto' draws a bar on a terminal, else lines."""
    if watch != "auto":
        yield watch or ignore
        return
    if not sys.stderr.isatty():
        yield _tell_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("tuning"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task: Any = bar.add_task("tuning", total=budget, last="")

        def show(trial: Trial) -> None:
            last = f"{listed(trial.changes)}: {found(trial)}"
            bar.update(task, completed=budget - max(left(), 0.0), last=last)

        yield show


def _tell_line(trial: Trial) -> None:
    print(f"{listed(trial.changes)}: {found(trial)}", file=sys.stderr)  # noqa: T201  (progress was asked for)
