"""Results of stages, decoded at first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...cache.fingerprint import artifact_digest
from ...cache.store import Files
from ...runtime.process import classes
from .events import Outcome


class Handle:
    """An artifact and its digest; `get` loads it at first use.

    Two threads may load it at once; artifacts are values, so either result is right.
    """

    __slots__ = ("_files", "_load", "_value", "digest")

    def __init__(self, digest: str | None, load: Callable[[], Any]) -> None:
        self.digest = digest
        self._load: Callable[[], Any] | None = load
        self._value: Any = None
        self._files: Files | None = None

    @classmethod
    def of(cls, value: Any, digest: str | None = None, files: Files | None = None) -> Handle:
        """Hold a value that is already loaded, and its files if somebody has just encoded it."""
        made = cls.__new__(cls)
        made.digest, made._load, made._value, made._files = digest, None, value, files
        return made

    def files(self) -> Files:
        """Return the files of the artifact."""
        files = self._files
        return self.get().files() if files is None else files

    def drop_files(self) -> None:
        """Keep the files no longer: the artifact stays as long as the process."""
        self._files = None

    def get(self) -> Any:
        """Return the artifact."""
        load = self._load
        if load is not None:
            self._value = load()
            self._load = None
        return self._value


def given(value: Any) -> Handle:
    """Hold an input of the workflow; only artifacts have a digest."""
    files = getattr(value, "files", None)
    return Handle.of(value, artifact_digest(files()) if callable(files) else None)


@classes.frozen(eq=False, slots=False)  # faster to construct
class Result:
    """The outputs of one stage, their key, and whether they were cached.

    `seconds` is the time spent here; `build_seconds` is how long the stage ran, maybe elsewhere.
    """

    name: str
    stage: str
    program: str
    key: str
    outcome: Outcome
    seconds: float
    components: Mapping[str, str] = classes.field(repr=False)
    outputs: Mapping[str, Handle] = classes.field(repr=False)
    build_seconds: float = 0.0
