"""Show the progress of many builds: a bar on a terminal, otherwise one line per program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from ...runtime.process import classes


@classes.frozen
class Built:
    """One of many builds has finished; `error` is its error, if it failed.

    `is_found` says that the store had it already, so nothing was built.
    """

    program: str
    done: int
    total: int
    error: BaseException | None = None
    is_found: bool = False


Observe: TypeAlias = Callable[[Built], None]
Progress: TypeAlias = Observe | Literal["auto"] | None


@contextmanager
def shown(progress: Progress, total: int) -> Iterator[Observe | None]:
    """Yield the observer; 'auto' draws a bar on a terminal and otherwise prints lines.

    A `total` of 0 means that the number is unknown.
    """
    if progress != "auto":
        yield progress
        return
    if not sys.stderr.isatty():
        yield tell_lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("building"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task: Any = bar.add_task("building", total=total or None, last="")

        def show(built: Built) -> None:
            if built.error is not None:
                bar.console.print(f"[red]failed[/red] {built.program}")
            bar.update(task, completed=built.done, total=built.total, last=built.program)

        yield show


def tell_lines(built: Built) -> None:
    """Print one line per program, for logs and batch jobs."""
    state = "found" if built.is_found else "built"
    if built.error is not None:
        state = f"failed: {type(built.error).__name__}"
    width = len(str(built.total))
    print(f"[{built.done:>{width}}/{built.total}] {built.program}: {state}", file=sys.stderr)  # noqa: T201
