"""The stages of a build as HTML: what a report and a notebook show alike."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, Literal, TypeAlias

from .measured import measured
from .view import BuildView, StageView, decisions

Detail: TypeAlias = Literal["all", "outputs", "keys", "overview"]
DETAILS: Final[tuple[Detail, ...]] = ("all", "outputs", "keys", "overview")
LONGEST: Final = 150_000  # letters of one text; a page is to stay readable


def build(view: BuildView, *, detail: Detail = "all") -> str:
    """Return a drawing, a table of times, a measured run, and a folded part for each stage."""
    parts = [_draw(view.stages)] if view.stages else []
    if any(stage.outcome for stage in view.stages):
        parts.append(_table(view))
        parts += [measured(view.measured)] if view.measured else []
        before: dict[str, str] = {}
        for stage in view.stages:
            parts.append(_stage(stage, before.get(stage.kind, ""), detail))
            before[stage.kind] = stage.text
    if view.note:
        parts.insert(0, f'<p class="note">{escape(view.note)}</p>')
    return "\n".join(parts)


def _table(view: BuildView) -> str:
    longest = max((stage.build_seconds for stage in view.stages), default=0.0) or 1.0
    rows = []
    for stage in view.stages:
        width = max(1, round(100 * stage.build_seconds / longest))
        rows.append(
            f"<tr><td>{escape(stage.name)}<td>{escape(stage.outcome)}"
            f'<td class="number">{stage.seconds * 1e3:.2f}'
            f'<td class="number">{stage.build_seconds * 1e3:.2f}'
            f'<td class="bar"><i style="width:{width}%"></i><td><code>{stage.key[:8]}</code>'
        )
    head = "<tr><th>stage<th>result<th>ms<th>ms to build<th><th>key"
    return f'<div class="scroll"><table>{head}{"".join(rows)}</table></div>'


def _stage(stage: StageView, before: str, detail: Detail) -> str:
    inner = [f'<pre class="why">{escape(stage.why)}</pre>'] if stage.why else []
    inner += _decisions(stage)
    if stage.text and detail != "keys":
        inner.append(_folded(f"{stage.name}: output", _pre(stage.text)))
        if before and stage.text != before:
            inner.append(_folded("difference to the stage before", _diff(before, stage.text)))
    inner += _passes(stage) if detail == "all" else []
    inner += _parts(stage)
    title = f"{escape(stage.name)} <small>{escape(stage.outcome)}</small>"
    head = f'<details class="stage"><summary>{title}</summary>'
    return f"{head}{''.join(inner)}</details>"


def _decisions(stage: StageView) -> Iterator[str]:
    found = decisions(stage.loops)
    if found:
        rows = "".join(
            f"<li>{f'<b>{escape(each.what)}</b>: ' if each.what else ''}{escape(each.reason)}"
            for each in found
        )
        yield f"<p>Decisions of the scheduler:</p><ul>{rows}</ul>"


def _passes(stage: StageView) -> Iterator[str]:
    """Yield the listing after each pass, as the difference to the one before."""
    before = ""
    for name, text in stage.listings.items():
        if not before:
            yield _folded(f"begins with {name}", _pre(text))
        else:
            came, went = _counts(before, text)
            said = f"+{came} -{went} lines" if came or went else "changes nothing"
            body = _diff(before, text) if came or went else ""
            yield _folded(f"pass {name}: {said}", body)
        before = text


def _parts(stage: StageView) -> Iterator[str]:
    if stage.parts:
        rows = "".join(
            f"<tr><td>{escape(label)}<td><code>{escape(_cut(part, 2000))}</code>"
            for label, part in stage.parts.items()
        )
        table = f'<div class="scroll"><table class="parts">{rows}</table></div>'
        yield _folded(f"key {stage.key[:16]}: {len(stage.parts)} parts", table)


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _pre(text: str) -> str:
    return f"<pre>{escape(_cut(text, LONGEST))}</pre>"


def _diff(before: str, after: str) -> str:
    return f"<pre>{_difference(before, after)}</pre>"


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[:longest]}\n... {len(text) - longest} more letters"


_MOST_LINES: Final = 400
_COMPARED: Final = 20_000  # lines of a listing that are compared
_CLASSES: Final = {"+": "new", "-": "old", "@": "at"}


def _difference(before: str, after: str) -> str:
    r"""Return the changed lines as HTML, empty if there are none.

    >>> print(_difference("a\nb", "a\nc"))
    <span class="at">@@ -1,2 +1,2 @@</span>
     a
    <span class="old">-b</span>
    <span class="new">+c</span>
    """
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _COMPARED:
        return "" if old == new else "Too long to be compared here."
    rows = list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
    left = len(rows) - _MOST_LINES
    shown = [_row(row) for row in rows[:_MOST_LINES]]
    return "\n".join([*shown, *([f"... {left} more lines"] if left > 0 else [])])


def _counts(before: str, after: str) -> tuple[int, int]:
    r"""Return how many lines came and went.

    >>> _counts("a\nb", "a\nc\nd")
    (2, 1)
    """
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _COMPARED:
        return max(len(new) - len(old), 0), max(len(old) - len(new), 0)
    rows = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    return sum(row.startswith("+") for row in rows), sum(row.startswith("-") for row in rows)


def _row(row: str) -> str:
    kind = _CLASSES.get(row[:1])
    return f'<span class="{kind}">{escape(row)}</span>' if kind else escape(row)


_WIDTH: Final = 340
_LEFT, _BOX, _HEIGHT, _STEP = 10, 190, 34, 62


def _draw(stages: Sequence[StageView]) -> str:
    """Return the drawing; the text of a box is the stage, that of an arrow the port."""
    rows = {stage.name: at for at, stage in enumerate(stages)}
    outside = list(dict.fromkeys(f.port for s in stages for f in s.feeds if not f.source))
    top = 26 if outside else 4
    height = top + len(stages) * _STEP
    parts = [
        f'<svg class="dag" role="img" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    if outside:
        shown = ", ".join(outside)
        parts.append(f'<text x="{_LEFT}" y="14" class="port">input: {escape(shown)}</text>')
    far = 0
    for at, stage in enumerate(stages):
        y = top + at * _STEP
        parts.append(_box(stage, y))
        near = [feed.port for feed in stage.feeds if feed.source and rows[feed.source] == at - 1]
        if near:
            parts.append(_straight(y, ", ".join(near)))
        for feed in stage.feeds:
            if feed.source and rows[feed.source] < at - 1:
                start = top + rows[feed.source] * _STEP
                parts.append(_curved(start, y, feed.port, far))
                far += 1
    return "".join([*parts, "</svg>"])


def _box(stage: StageView, y: int) -> str:
    label = escape(stage.name)
    box = (
        f'<rect x="{_LEFT}" y="{y}" width="{_BOX}" height="{_HEIGHT}" rx="5" '
        f'class="{escape(stage.outcome) or "plain"}"/>'
        f'<text x="{_LEFT + 10}" y="{y + 21}">{label}</text>'
    )
    if not stage.outcome:
        return box
    said = f"{escape(stage.outcome)} {stage.seconds * 1e3:.1f} ms"
    end = _LEFT + _BOX - 8
    return f'{box}<text x="{end}" y="{y + 21}" text-anchor="end" class="port">{said}</text>'


def _straight(y: int, port: str) -> str:
    x = _LEFT + 30
    return (
        f'<path d="M{x} {y - _STEP + _HEIGHT}V{y - 2}" class="arrow"/>'
        f'<text x="{x + 8}" y="{y - 10}" class="port">{escape(port)}</text>'
    )


def _curved(start: int, stop: int, port: str, number: int) -> str:
    x = _LEFT + _BOX
    out = x + 30 + 14 * (number % 4)
    begin, end = start + _HEIGHT // 2, stop + _HEIGHT // 2
    middle = (begin + end) // 2 + 12 * (number % 3)
    return (
        f'<path d="M{x} {begin}C{out} {begin} {out} {end} {x + 2} {end}" class="arrow"/>'
        f'<text x="{out - 4}" y="{middle}" class="port">{escape(port)}</text>'
    )
