"""Draw the stages of a workflow as SVG: one below the other, with an arrow for each port."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from .view import StageView

WIDTH: Final = 340
_LEFT, _BOX, _HEIGHT, _STEP = 10, 190, 34, 62


def draw(stages: Sequence[StageView]) -> str:
    """Return the drawing; the text of a box is the stage, that of an arrow the port."""
    rows = {stage.name: at for at, stage in enumerate(stages)}
    outside = list(dict.fromkeys(f.port for s in stages for f in s.feeds if not f.source))
    top = 26 if outside else 4
    height = top + len(stages) * _STEP
    parts = [
        f'<svg class="dag" role="img" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
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
