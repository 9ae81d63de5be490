"""A page that needs nothing else: no server, no network, no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from .stages import build
from .view import BuildView, StageView

STYLE: Final = """
.ff{--ink:#1c2430;--dim:#5c6675;--line:#d5dae2;--soft:#f4f6f9;--new:#e2f5e5;--old:#fde5e5;
--ran:#f6c177;--disk:#a8d5b0;--memory:#a8c7e8;color:var(--ink);line-height:1.45;
font-family:system-ui,sans-serif;font-size:15px}
.ff h1{font-size:1.4em;overflow-wrap:anywhere}
.ff pre,.ff code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12.5px}
.ff pre{overflow:auto;max-height:75vh;background:var(--soft);padding:.7em;border-radius:5px;
margin:.4em 0}
.ff pre.why{background:none;padding:0;white-space:pre-wrap;overflow-wrap:anywhere}
.ff table{border-collapse:collapse}.ff td,.ff th{text-align:left;padding:.2em .7em .2em 0;
border-bottom:1px solid var(--line);vertical-align:top}
.ff td.number{text-align:right;font-variant-numeric:tabular-nums}
.ff td.bar{width:7em}.ff td.bar i{display:block;height:.7em;margin-top:.35em;
background:var(--ran);border-radius:2px}
.ff .parts code{overflow-wrap:anywhere;white-space:pre-wrap}
.ff .scroll{overflow-x:auto;margin:.5em 0}.ff li{overflow-wrap:anywhere}
.ff details{margin:.3em 0 .3em .2em}.ff summary{cursor:pointer}
.ff details.stage{border:1px solid var(--line);border-radius:6px;padding:.3em .8em;margin:.6em 0}
.ff details.stage>summary{font-weight:600}.ff small,.ff .port{color:var(--dim);fill:var(--dim)}
.ff .note{border-left:3px solid var(--ran);padding-left:.7em}
.ff .new{background:var(--new)}.ff .old{background:var(--old)}.ff .at{color:var(--dim)}
.ff .dag{max-width:100%;height:auto;font-size:13px}.ff .dag text{fill:var(--ink)}
.ff .dag .port{fill:var(--dim);font-size:11px}
.ff .dag rect{fill:var(--soft);stroke:var(--line)}.ff .dag rect.ran{fill:var(--ran)}
.ff .dag rect.disk,.ff .dag rect.deep{fill:var(--disk)}.ff .dag rect.memory{fill:var(--memory)}
.ff .dag .arrow{fill:none;stroke:var(--dim);marker-end:url(#tip)}.ff .dag marker{fill:var(--dim)}
@media(prefers-color-scheme:dark){.ff{--ink:#e3e7ee;--dim:#9aa5b5;--line:#3a424f;--soft:#1d232d;
--new:#143d24;--old:#4a1f24;--ran:#8a5a1c;--disk:#2c5e3a;--memory:#2d4f75}}
"""
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>{title}</title>
<style>{style}
body{{margin:0 auto;max-width:70em;padding:1em}}
@media(prefers-color-scheme:dark){{body{{background:#12161c}}}}</style></head>
<body class="ff"><h1>{title}</h1>{body}</body></html>
"""


def page(views: Sequence[BuildView]) -> str:
    """Return the page of one build, or of several with a list of them at the head."""
    title = views[0].title if len(views) == 1 else f"{len(views)} builds"
    if len(views) == 1:
        return _PAGE.format(title=escape(title), style=STYLE, body=build(views[0]))
    return _PAGE.format(title=title, style=STYLE, body="".join(_all(views)))


def fragment(view: BuildView) -> str:
    """Return what a notebook shows of a build."""
    head = f"<p><b>{escape(view.title)}</b></p>"
    return f'<style>{STYLE}</style><div class="ff">{head}{build(view)}</div>'


def workflow_fragment(title: str, stages: tuple[StageView, ...]) -> str:
    """Return what a notebook shows of a workflow."""
    return fragment(BuildView(title, stages))


def _all(views: Sequence[BuildView]) -> Iterable[str]:
    for view in views:
        seconds = sum(stage.seconds for stage in view.stages)
        yield (
            f"<details><summary><b>{escape(view.title)}</b> <small>{seconds * 1e3:.0f} ms"
            f"</small></summary>{build(view)}</details>"
        )
