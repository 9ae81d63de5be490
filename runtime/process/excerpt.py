"""Show a stretch of the user's source with carets under it, as an error prints it."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterable

from . import classes
from .source import Span

MOST_LINES = 3
WIDTH = 100


@classes.frozen
class Related:
    """Another place in the source that explains an error, with its label."""

    location: Span
    label: str | None = None


@classes.frozen
class _Mark:
    """Columns `start <= c < stop` of one line, counted from 0, and how to underline them."""

    start: int
    stop: int
    sign: str
    label: str | None


def excerpt(location: Span, label: str | None = None, related: Iterable[Related] = ()) -> str:
    """Return file, line, source and underlines of `location`, then the other places.

    Related places on the same line are underlined with '-', the others follow as
    blocks of their own. Without the source only file and line are shown.
    """
    related = tuple(related)
    beside = [r for r in related if _on_one_line(location) and _shares_line(r.location, location)]
    blocks = _block(location, label, beside)
    for other in related:
        if other not in beside:
            blocks += ["Related:", *_block(other.location, other.label, [])]
    return "\n".join(blocks)


def wrapped(title: str, text: str) -> str:
    """Return `Title: text` folded at 100 columns, its continuation lines indented.

    >>> wrapped("Hint", "Did you mean 'lap'?")
    "Hint: Did you mean 'lap'?"
    """
    first, indent = f"{title}: ", " " * (len(title) + 2)
    lines: list[str] = []
    for line in text.splitlines() or [""]:
        lines += textwrap.wrap(
            line, WIDTH, initial_indent=indent if lines else first, subsequent_indent=indent
        ) or [indent.rstrip()]
    return "\n".join(lines)


def _on_one_line(span: Span) -> bool:
    return span.line == span.end_line


def _shares_line(span: Span, other: Span) -> bool:
    return _on_one_line(span) and (span.file, span.line) == (other.file, other.line)


def _block(location: Span, label: str | None, beside: list[Related]) -> list[str]:
    lines = [f'  File "{location.file}", line {location.line}']
    last = min(location.end_line, location.line + MOST_LINES - 1)
    numbers = range(location.line, last + 1)
    sources = [linecache.getline(location.file, number).rstrip() for number in numbers]
    if not any(sources):
        return [*lines, f"    {label}"] if label else lines
    gutter = len(str(last))
    for number, source in zip(numbers, sources, strict=True):
        lines.append(f"    {number:>{gutter}} | {source}".rstrip())
        marks = [_mark(location, number, source, label if number == last else None)]
        marks += [
            classes.evolve(_mark(r.location, number, source, r.label), sign="-") for r in beside
        ]
        lines += [f"    {'':>{gutter}} | {line}" for line in _underline(source, marks)]
    if last < location.end_line:
        lines.append(f"    {'...':>{gutter}}")
    return lines


def _mark(span: Span, number: int, source: str, label: str | None) -> _Mark:
    blank = len(source) - len(source.lstrip())
    start = span.column - 1 if number == span.line else blank
    stop = span.end_column - 1 if number == span.end_line else len(source)
    start = min(max(start, 0), len(source))
    return _Mark(start, max(stop, start + 1), "^", label)


def _underline(source: str, marks: list[_Mark]) -> list[str]:
    """Return the line of carets and one line for each label that does not fit behind it."""
    width = max(len(source), *(mark.stop for mark in marks))
    row = [char if char == "\t" else " " for char in source.ljust(width)]
    blank = row.copy()
    for mark in reversed(marks):  # the carets of the error itself are drawn last
        row[mark.start : mark.stop] = mark.sign * (mark.stop - mark.start)
    below = sorted((mark for mark in marks if mark.label), key=lambda mark: -mark.start)
    lines = ["".join(row).rstrip()]
    if below and below[0].stop == max(mark.stop for mark in marks):
        lines[0] += f" {below.pop(0).label}"
    return lines + ["".join(blank[: mark.start]) + str(mark.label) for mark in below]
