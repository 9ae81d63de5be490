"""The calls of a recorded step as text, for reports and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..reports.view import CallView, StepView

if TYPE_CHECKING:  # the step imports this module
    from .recording import Step


def view_of_step(step: Step) -> StepView:
    """Return the calls of a recorded step."""
    names = {id(field): name for name, field in step.slots.items()}
    calls = [CallView(title_of(each[0]), dict(_words(each, names))) for each in step.calls]
    return StepView(f"Step of {len(calls)} calls", tuple(step.slots), tuple(calls))


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
