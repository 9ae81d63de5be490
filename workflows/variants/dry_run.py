"""Record the builds that a model asks for, with or without running them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ...runtime.language import Definition
from ...runtime.process import classes
from ...stages.artifacts import Variant
from ..backends.backend import Backend


@classes.frozen(eq=False)
class Asked:
    """One build that a program asked for."""

    definition: Definition
    backend: Backend
    variant: Variant


@classes.define(eq=False)
class Recorder:
    """The recorded builds in order; while a dry one is active `compile` starts none."""

    dry: bool = True
    asked: list[Asked] = classes.field(factory=list)


_recorders: Final[list[Recorder]] = []


@contextmanager
def recording(*, dry: bool = True) -> Iterator[Recorder]:
    """Record every build that any thread asks for inside the block.

    With `dry`, `compile` builds nothing; calls still build.
    """
    recorder = Recorder(dry)
    _recorders.append(recorder)
    try:
        yield recorder
    finally:
        _recorders.remove(recorder)


def note_build(definition: Definition, backend: Backend, variant: Variant) -> bool:
    """Record a build that a program asks for; return whether to skip it."""
    for recorder in _recorders:
        recorder.asked.append(Asked(definition, backend, variant))
    return any(recorder.dry for recorder in _recorders)
