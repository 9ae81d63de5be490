"""Write down which builds a model asks for, with or without doing them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs

from ...runtime.language.definition import Definition
from ...stages.artifacts import Variant
from ..backends.backend import Backend


@attrs.frozen(eq=False)
class Asked:
    """One build that was asked for."""

    definition: Definition
    backend: Backend
    variant: Variant


@attrs.define(eq=False)
class Recorder:
    """The builds that were asked for, in order; a dry one keeps `compile` from beginning them."""

    dry: bool = True
    asked: list[Asked] = attrs.field(factory=list)


_recorders: Final[list[Recorder]] = []


@contextmanager
def recording(*, dry: bool = True) -> Iterator[Recorder]:
    """Record every build that is asked for inside the block, in all threads.

    When `dry`, `compile` and what sets a model up by it build nothing; calls still build.
    """
    recorder = Recorder(dry)
    _recorders.append(recorder)
    try:
        yield recorder
    finally:
        _recorders.remove(recorder)


def note(definition: Definition, backend: Backend, variant: Variant) -> bool:
    """Tell the recorders of a build; return whether it is to be left out."""
    for recorder in _recorders:
        recorder.asked.append(Asked(definition, backend, variant))
    return any(recorder.dry for recorder in _recorders)
