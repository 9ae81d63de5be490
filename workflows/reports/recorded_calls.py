"""The calls of a recorded step as text, for reports and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .view import CallView, StepView


def view_of_calls(calls: Sequence[Any], slots: Mapping[str, Any]) -> StepView:
    """Return the view of a recorded step: its calls, and its slots with their fields."""
    names = {id(field): name for name, field in slots.items()}
    views = tuple(CallView(title_of(each[0]), dict(_words(each, names))) for each in calls)
    return StepView(f"Step of {len(views)} calls", tuple(slots), views)


def title_of(entry: Any) -> str:
    """Return the name of a program with that of its backend."""
    backend = getattr(entry, "backend", None)
    name = getattr(entry, "__name__", None) or getattr(entry, "name", None) or repr(entry)
    return f"{name} on '{backend.name}'" if backend is not None else name


def _words(call: Sequence[Any], names: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    entry, args, kwargs, _ = call
    given = [
        *zip(getattr(entry, "parameters", ()), args, strict=False),
        *dict(kwargs or {}).items(),
    ]
    for name, value in given:
        slot = names.get(id(value))
        yield name, f"{value} (slot {slot})" if slot else str(value)
