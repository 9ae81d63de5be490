"""Capture a call of a program or operator in a capsule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...runtime.language.binding import bind_arguments
from ..capsules.capturing import Captured, capture
from .entry_point import captured_names

if TYPE_CHECKING:
    from .entry_point import EntryPoint


def capture_call(
    entry: EntryPoint,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    path: str | Path,
    seed: int | None = None,
) -> Path:
    """Make a call, write its capsule, and raise what the call raised."""
    own = dict(kwargs)
    provider = own.pop("offset_provider", None) or {}
    own.pop("enable_jit", None)
    definition, shape, given, named = entry._call_of(args, own)
    call: Any = entry
    raised: list[BaseException] = []

    def make() -> None:
        try:
            call(*args, **{name: each for name, each in kwargs.items() if each is not None})
        except BaseException as error:
            raised.append(error)
            raise

    values = shape.with_fields(bind_arguments(entry.__name__, shape.parameters, given, named))
    variant = shape.variant(values, provider)
    capsule = capture(Captured(definition, entry.backend, variant, values, provider), make, seed)
    written = capsule.save(path)
    for error in raised:
        raise error
    return written


def capture_first(entry: EntryPoint, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Capture a call that the settings ask for, in the working folder."""
    captured_names.add(entry.__name__)  # before the call is made, which would come here again
    capture_call(entry, args, kwargs, f"{entry.__name__}.capsule")
