"""Capture a call of a program or operator in a capsule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...runtime.language.argument_binding import bind_arguments
from ..capsules.capturing import Captured, capture


def capture_call(
    entry: Any,
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
    raised: list[BaseException] = []

    def make() -> None:
        try:
            entry(*args, **{name: each for name, each in kwargs.items() if each is not None})
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
