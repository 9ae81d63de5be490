"""A page that needs nothing else: no server, no network, no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from .stages import DETAILS, Detail, build
from .view import BuildView, StageView, StepView

MOST: Final = 1_000_000  # bytes of a page

# Colours follow from those of the page around: a notebook may be light where the system is dark.
STYLE: Final = """
.ff{--ink:currentColor;--dim:color-mix(in srgb,currentColor 72%,transparent);
--line:color-mix(in srgb,currentColor 22%,transparent);
--soft:color-mix(in srgb,currentColor 6%,transparent);
--new:#2da44e38;--old:#cf222e38;--ran:#e08a1e80;--disk:#3fa35880;--memory:#3f82c980;
color:inherit;line-height:1.45;font-family:system-ui,sans-serif;font-size:15px}
.ff h1{font-size:1.4em;overflow-wrap:anywhere}
.ff pre,.ff code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12.5px}
.ff pre{overflow:auto;max-height:75vh;background:var(--soft);padding:.7em;border-radius:5px;
margin:.4em 0}
.ff pre.why{background:none;padding:0;white-space:pre-wrap;overflow-wrap:anywhere}
.ff table{border-collapse:collapse;color:inherit;font-size:inherit}
.ff td,.ff th{text-align:left;padding:.2em .7em .2em 0;
border-bottom:1px solid var(--line);vertical-align:top}
.ff td.number{text-align:right;font-variant-numeric:tabular-nums}
.ff td.bar{width:7em}.ff td.bar i{display:block;height:.7em;margin-top:.35em;
background:var(--ran);border-radius:2px}
.ff .parts code{overflow-wrap:anywhere;white-space:pre-wrap}
.ff a{color:inherit}.ff table.builds td:first-child{overflow-wrap:anywhere;min-width:9em}
.ff .scroll{overflow-x:auto;margin:.5em 0}.ff li{overflow-wrap:anywhere}
.ff details{margin:.3em 0 .3em .2em}.ff summary{cursor:pointer}
.ff details.stage{border:1px solid var(--line);border-radius:6px;padding:.3em .8em;margin:.6em 0}
.ff details.stage>summary{font-weight:600}.ff small,.ff .port{color:var(--dim);fill:var(--dim)}
.ff .note{border-left:3px solid var(--ran);padding-left:.7em}
.ff .new{background:var(--new)}.ff .old{background:var(--old)}.ff .at{color:var(--dim)}
.ff figure{margin:.6em 0}.ff figcaption{color:var(--dim)}
.ff .roof{max-width:100%;height:auto;font-size:11px}.ff .roof text{fill:var(--dim)}
.ff .roof line{stroke:var(--line)}.ff .roof .top{fill:none;stroke:var(--ink);stroke-width:1.5}
.ff .roof .drop{stroke:var(--dim);stroke-dasharray:3 3}.ff .roof circle{fill:var(--ran)}
.ff .roof .said{fill:var(--ink)}
.ff .dag{max-width:100%;height:auto;font-size:13px}.ff .dag text{fill:var(--ink)}
.ff .dag .port{fill:var(--dim);font-size:11px}
.ff .dag rect{fill:var(--soft);stroke:var(--line)}.ff .dag rect.ran{fill:var(--ran)}
.ff .dag rect.disk,.ff .dag rect.deep{fill:var(--disk)}.ff .dag rect.memory{fill:var(--memory)}
.ff .dag .arrow{fill:none;stroke:var(--dim);marker-end:url(#tip)}.ff .dag marker{fill:var(--dim)}
"""
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>{title}</title>
<style>{style}
body{{margin:0 auto;max-width:70em;padding:1em;color:#1c2430}}
@media(prefers-color-scheme:dark){{body{{background:#12161c;color:#e3e7ee}}}}</style></head>
<body><div class="ff"><h1>{title}</h1>{body}</div></body></html>
"""


def page(views: Sequence[BuildView], steps: Sequence[StepView] = (), most: int = MOST) -> str:
    """Return the page of one build, or of several with a table of them at the head.

    The page leaves out more where it would have more than `most` letters: first the listings after
    passes, then the outputs, then all but the table.
    """
    for detail in DETAILS:
        made = _page(views, steps, detail)
        if len(made.encode()) <= most:
            break
    return made


def fragment(view: BuildView) -> str:
    """Return what a notebook shows of a build."""
    return _fragment(view.title, build(view))


def overview_fragment(title: str, views: Sequence[BuildView]) -> str:
    """Return what a notebook shows of several builds."""
    return _fragment(title, _overview(views, linked=False))


def step_fragment(view: StepView) -> str:
    """Return what a notebook shows of a recorded step."""
    return _fragment(view.title, _step(view))


def workflow_fragment(title: str, stages: tuple[StageView, ...]) -> str:
    """Return what a notebook shows of a workflow."""
    return fragment(BuildView(title, stages))


def _fragment(title: str, body: str) -> str:
    head = f"<p><b>{escape(title)}</b></p>"
    return f'<style>{STYLE}</style><div class="ff">{head}{body}</div>'


def _page(views: Sequence[BuildView], steps: Sequence[StepView], detail: Detail) -> str:
    if len(views) == 1 and not steps:
        return _PAGE.format(
            title=escape(views[0].title), style=STYLE, body=build(views[0], detail=detail)
        )
    title = ", ".join(each.title for each in steps) or f"{len(views)} builds"
    body = "".join(_all(views, steps, detail))
    return _PAGE.format(title=escape(title), style=STYLE, body=body)


def _all(views: Sequence[BuildView], steps: Sequence[StepView], detail: Detail) -> Iterable[str]:
    yield from map(_step, steps)
    if views:
        yield _overview(views, linked=detail != "overview")
    if detail == "overview":
        yield '<p class="note">The page would be too large with every stage; report some alone.</p>'
        return
    for number, view in enumerate(views):
        seconds = sum(stage.seconds for stage in view.stages)
        opened = " open" if len(views) == 1 else ""
        yield (
            f"<details{opened}><summary><b>{escape(view.title)}</b> "
            f"<small>{seconds * 1e3:.0f} ms</small></summary>"
            f'<div id="build-{number}">{build(view, detail=detail)}</div></details>'
        )


def _overview(views: Sequence[BuildView], *, linked: bool = True) -> str:
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


def _step(view: StepView) -> str:
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
