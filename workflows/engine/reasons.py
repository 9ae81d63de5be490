"""Explain a cache miss: the difference to the nearest stored build."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Final

from ...cache.explain import Difference, differences, nearest
from ...cache.record import Record
from ...cache.store import Store
from ...runtime.process import classes

_DIGEST: Final = 64
_KINDS: Final = ("stage", "version", "code", "option", "environment", "input", "feeds")
_MOST_LINES: Final = 12
_ANNOTATION: Final = "input.annotation."
_ALIKE: Final = 0.5


@classes.frozen
class Reason:
    """Why a result is missing: no similar record, or one that differs in these components."""

    stage: str
    program: str
    record: Record | None = classes.field(repr=False)
    changed: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        if self.record is None:
            return f"'{self.program}' was never built into this store."
        if not self.changed:
            return "Its record is in the store, but some of its files are missing."
        host = dict(self.record.meta).get("host", "an unknown host")
        head = f"The nearest build, made on {host}, differs in {len(self.changed)} of its parts:"
        return "\n".join([head, *(f"  {said(part)}" for part in self.changed)])


def reason(store: Store, stage: str, program: str, components: Mapping[str, str]) -> Reason:
    """Compare a key with the nearest record of this stage and program."""
    record = nearest(store, stage, program, components)
    if record is not None and is_stranger(dict(record.components), components):
        record = None
    found = differences(record.components, components) if record else ()
    return Reason(stage, program, record, _roots(found))


def is_stranger(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Tell whether a record is of another program that has the same name by chance.

    One that was edited keeps its parameters or most of its text.
    """
    sources = [label for label in new if label.endswith("input.source")]
    for label in sources:
        if label not in old or old[label] == new[label]:
            return False
        kept = [part for part in new if _ANNOTATION in part and old.get(part) == new[part]]
        before, after = (text.partition(":\n")[2] or text for text in (old[label], new[label]))
        alike = difflib.SequenceMatcher(None, before, after, autojunk=False).ratio()
        if kept or alike >= _ALIKE:
            return False
    return bool(sources)


def said(part: Difference) -> str:
    """Describe the old and the new value of a component, in a line or with a diff.

    >>> said(Difference("option.fold", "True", "False"))
    "option 'fold' changed from True to False"
    >>> said(Difference("parse.input.closure.constants.g", "float64 9.8", "float64 9.81"))
    "input 'closure.constants.g' of stage 'parse' changed from float64 9.8 to float64 9.81"
    """
    words = part.label.split(".")
    at = next((place for place, word in enumerate(words) if word in _KINDS), 0)
    stage, kind, name = ".".join(words[:at]), words[at], ".".join(words[at + 1 :])
    what = (f"{kind} '{name}'" if name else f"'{kind}'") + (f" of stage '{stage}'" if stage else "")
    if "\n" in f"{part.old}{part.new}":
        rows = _diff((part.old or "").splitlines(), (part.new or "").splitlines())
        return "\n".join([f"{what} changed:", *(f"    {row}" for row in rows)])
    return f"{what} changed from {_short(part.old)} to {_short(part.new)}"


def _roots(found: tuple[Difference, ...]) -> tuple[Difference, ...]:
    """Drop digests of components that others show in full."""
    plain = tuple(part for part in found if not _is_digest(part.old) or not _is_digest(part.new))
    return (*plain, *(part for part in found if part not in plain))


def _diff(old: list[str], new: list[str]) -> Iterable[str]:
    rows = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    rows = [row for row in rows if not row.startswith("@@")]
    return [*rows[:_MOST_LINES], "..."] if len(rows) > _MOST_LINES else rows


def _is_digest(value: str | None) -> bool:
    return value is not None and len(value) == _DIGEST and set(value) <= set("0123456789abcdef")


def _short(value: str | None) -> str:
    if value is None:
        return "nothing"
    return value[:8] if _is_digest(value) else value
