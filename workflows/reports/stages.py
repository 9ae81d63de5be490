"""The stages of a build as HTML: what a report and a notebook show alike."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final, Literal, TypeAlias

from .difference import counts, difference
from .drawing import draw
from .measured import measured
from .view import BuildView, StageView, decisions

Detail: TypeAlias = Literal["all", "outputs", "keys", "overview"]
DETAILS: Final[tuple[Detail, ...]] = ("all", "outputs", "keys", "overview")
LONGEST: Final = 150_000  # letters of one text; a page is to stay readable


def build(view: BuildView, *, detail: Detail = "all") -> str:
    """Return a drawing, a table of times, a measured run, and a folded part for each stage."""
    parts = [draw(view.stages)] if view.stages else []
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
            came, went = counts(before, text)
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
    return f"<pre>{difference(before, after)}</pre>"


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[:longest]}\n... {len(text) - longest} more letters"
