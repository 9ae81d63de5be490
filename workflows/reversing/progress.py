"""Show how far a gradient is: a bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

Observe: TypeAlias = Callable[[int, int], None]  # the steps made, and all steps
Progress: TypeAlias = Observe | Literal["auto"] | None


@contextmanager
def shown(progress: Progress, total: int) -> Iterator[Callable[[int], None]]:
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
