"""A result of a stage that is decoded only when somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from ...cache.fingerprint import artifact_digest
from .events import Outcome


class Handle:
    """An artifact by its digest; `get` loads it at first use.

    Two threads may load at once: artifacts are values, so either will do.
    """

    __slots__ = ("_load", "_value", "digest")

    def __init__(self, digest: str | None, load: Callable[[], Any]) -> None:
        self.digest = digest
        self._load: Callable[[], Any] | None = load
        self._value: Any = None

    @classmethod
    def of(cls, value: Any, digest: str | None = None) -> Handle:
        """Hold a value that is there already."""
        made = cls.__new__(cls)
        made.digest, made._load, made._value = digest, None, value
        return made

    def get(self) -> Any:
        """Return the artifact."""
        load = self._load
        if load is not None:
            self._value = load()
            self._load = None
        return self._value


def given(value: Any) -> Handle:
    """Hold an input from outside; artifacts have a digest, other values have not."""
    files = getattr(value, "files", None)
    return Handle.of(value, artifact_digest(files()) if callable(files) else None)


@attrs.frozen(eq=False, slots=False)  # is made in a third of the time
class Result:
    """What one stage gave, under which key, and how it was come by.

    `seconds` is how long that took here, `build_seconds` how long the stage ran, maybe elsewhere.
    """

    name: str
    stage: str
    program: str
    key: str
    outcome: Outcome
    seconds: float
    components: Mapping[str, str] = attrs.field(repr=False)
    outputs: Mapping[str, Handle] = attrs.field(repr=False)
    build_seconds: float = 0.0
