"""A measured run as HTML: its numbers, and its place under the roof of the memory."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import floor, log10
from typing import Final

from .view import MeasuredView

WIDTH: Final = 340
HEIGHT: Final = 190
NOISY: Final = 1.6
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 330, 12, 158


def measured(view: MeasuredView) -> str:
    """Return a table of numbers and a roofline."""
    rows = "".join(f'<tr><td>{name}<td class="number">{text}' for name, text in _numbers(view))
    note = (
        "Each field counts once on what the call reads of it, and once on what it writes. The roof "
        "is a copy of as many bytes, made by the same backend."
    )
    if view.spread > NOISY:
        note += " The rounds scatter: other programs use this machine."
    return (
        f"<h3>Measured run</h3><p><small>{escape(view.machine)}; {escape(view.shapes)}</small></p>"
        f'<div class="scroll"><table>{rows}</table></div>'
        f"<figure>{roofline(view)}<figcaption>{note}</figcaption></figure>"
    )


def roofline(view: MeasuredView) -> str:
    """Return a drawing with logarithmic axes: operations for each byte, operations a second."""
    if not view.operations:
        return ""
    low, high = floor(log10(view.intensity)) - 1, floor(log10(view.intensity)) + 2
    rate = view.intensity * view.rate
    top = log10(view.copy_rate) + log10(view.intensity) + 0.6
    bottom = min(log10(rate), top - 2) - 0.6

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT)

    def y(value: float) -> float:
        return _BOTTOM - (value - bottom) / (top - bottom) * (_BOTTOM - _TOP)

    at, reached, roof = log10(view.intensity), log10(rate), log10(view.copy_rate)
    first, last = max(low, bottom - roof), min(high, top - roof)
    parts = [
        f'<svg class="roof" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">'
        f"<title>{view.share:.0%} of the rate of a copy</title>"
    ]
    for each in range(low, high + 1):
        parts.append(f'<line x1="{x(each):.1f}" y1="{_TOP}" x2="{x(each):.1f}" y2="{_BOTTOM}"/>')
        parts.append(f'<text x="{x(each):.1f}" y="{_BOTTOM + 13}" text-anchor="middle">')
        parts.append(f"{_short(10.0**each)}</text>")
    for each in range(int(bottom) + 1, int(top) + 1):
        parts.append(f'<line x1="{_LEFT}" y1="{y(each):.1f}" x2="{_RIGHT}" y2="{y(each):.1f}"/>')
        parts.append(f'<text x="{_LEFT - 4}" y="{y(each) + 4:.1f}" text-anchor="end">')
        parts.append(f"{_short(10.0 ** (each - 9))}</text>")
    middle = (_LEFT + _RIGHT) // 2
    parts += [
        f'<path class="top" d="M{x(first):.1f} {y(first + roof):.1f}',
        f'L{x(last):.1f} {y(last + roof):.1f}"/>',
        f'<path class="drop" d="M{x(at):.1f} {y(at + roof):.1f}V{_BOTTOM}"/>',
        f'<circle cx="{x(at):.1f}" cy="{y(reached):.1f}" r="5"/>',
        f'<text class="said" x="{x(at) + 9:.1f}" y="{y(reached) + 12:.1f}">',
        f"{view.share:.0%} of a copy</text>",
        f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">flop / byte</text>',
        f'<text x="{_LEFT + 4}" y="{_TOP + 8}">Gflop/s</text></svg>',
    ]
    return "".join(parts)


def _numbers(view: MeasuredView) -> Iterator[tuple[str, str]]:
    yield "a call", f"{view.seconds * 1e6:,.1f} µs"
    yield "upper / lower quartile", f"{view.spread:.2f}"
    yield "read at least", _bytes(view.read)
    yield "written at least", _bytes(view.written)
    yield "moved", f"{view.rate / 1e9:.1f} GB/s"
    yield "a copy moves", f"{view.copy_rate / 1e9:.1f} GB/s"
    yield "share of the copy", f"{view.share:.0%}"
    yield "operations on floats", f"{view.operations:,}"
    yield "operations a second", f"{view.operations / view.seconds / 1e9:.2f} Gflop/s"


def _bytes(size: int) -> str:
    return f"{size / 1e6:,.2f} MB" if size >= 1e5 else f"{size:,} bytes"


def _short(value: float) -> str:
    return f"{value:g}"
