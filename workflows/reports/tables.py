"""Tables of several builds, and of the calls of a recorded step."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .view import BuildView, StepView


def overview(views: Sequence[BuildView], *, linked: bool = True) -> str:
    """Return a table of builds: what was found or built, the time, and why."""
    rows = []
    speed = "<th>µs a call<th>GB/s" if any(view.measured for view in views) else ""
    for number, view in enumerate(views):
        seconds = sum(stage.seconds for stage in view.stages)
        name = escape(view.title)
        title = f'<a href="#build-{number}">{name}</a>' if linked else name
        why = view.reason or view.note
        rows.append(
            f"<tr><td>{title}<td>{escape(view.result)}"
            f'<td class="number">{seconds * 1e3:.1f}{_measured(view) if speed else ""}'
            f'<td><pre class="why">{escape(why)}</pre>'
        )
    head = f"<tr><th>build<th>result<th>ms{speed}<th>why"
    return f'<div class="scroll"><table class="builds">{head}{"".join(rows)}</table></div>'


def step(view: StepView) -> str:
    """Return the calls of a recorded step in order; equal calls in a row share a line."""
    rows, number = [], 0
    while number < len(view.calls):
        call, last = view.calls[number], number + 1
        while last < len(view.calls) and view.calls[last] == call:
            last += 1
        shown = f"{number}" if last == number + 1 else f"{number} to {last - 1}"
        words = ", ".join(f"{name}={text}" for name, text in call.arguments.items())
        rows.append(
            f'<tr><td class="number">{shown}<td>{escape(call.program)}'
            f"<td><code>{escape(words)}</code>"
        )
        number = last
    slots = ", ".join(view.slots) or "none"
    head = "<tr><th>call<th>program<th>arguments"
    table = f'<div class="scroll"><table class="parts">{head}{"".join(rows)}</table></div>'
    said = f"{len(view.calls)} calls; fields that a replay may exchange: {escape(slots)}."
    return f"<p>{said}</p>{table}"


def _measured(view: BuildView) -> str:
    if view.measured is None:
        return "<td><td>"
    found = view.measured
    return f'<td class="number">{found.seconds * 1e6:.1f}<td class="number">{found.rate / 1e9:.1f}'
