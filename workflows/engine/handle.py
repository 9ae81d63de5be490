"""Results of stages, decoded at first use, and their keys, whose components `explain` compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final
from weakref import ref

from ...cache.code import code_digest, function_digest, toolchain_digest
from ...cache.fingerprint import artifact_digest, fingerprint
from ...cache.functions import is_ours
from ...cache.store import Files
from ...runtime.process import WorkflowError, classes
from ...stages.base import Stage
from ..graph.function_stage import FunctionStage
from ..graph.text import show_value
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


NAMELESS: Final = "nameless:"
_PLAIN: Final = (bool, int, float, str, type(None))
# By identity: options such as 1 and True are equal but differ.
_settled: dict[int, tuple[ref[Stage], str | None, dict[str, str]]] = {}
_nameless: list[Any] = []  # keeps objects without digest alive, so that their numbers stay unique
_numbering = Lock()


def own_components(stage: Stage, memo: str | None = None) -> dict[str, str]:
    """Return the components of the key that do not depend on the inputs.

    `memo` is a file that caches digests of our own sources between processes.
    """
    known = _settled.get(id(stage))
    if known is None or known[0]() is not stage or known[1] != memo:
        parts = _settled_parts(stage, memo)
        if hasattr(stage, "__weakref__"):
            place = id(stage)
            held = ref(stage, lambda _: _settled.pop(place, None))
            _settled[place] = held, memo, parts
    else:
        parts = known[2]
    around = stage.environment()
    return parts | {f"environment.{label}": value for label, value in around.items()}


def _settled_parts(stage: Stage, memo: str | None) -> dict[str, str]:
    """Return the components that are constant for a stage object: its code and its options."""
    parts = {"stage": stage.name, "version": stage.version, "code": _code(stage, memo)}
    kind: Any = type(stage)
    for field in classes.fields(kind) if classes.has(kind) else ():
        if field.eq:
            parts[f"option.{field.name}"] = _spelling(getattr(stage, field.name))
    return parts


def input_components(stage: Stage, inputs: Mapping[str, Handle]) -> dict[str, str]:
    """Return the components of the inputs: their digests, or what the stage declares."""
    parts = {f"input.{need}": handle.digest for need, handle in inputs.items() if handle.digest}
    values = {need: handle.get() for need, handle in inputs.items() if not handle.digest}
    if values:
        said = stage.components(values)
        if not said:
            names = ", ".join(f"'{need}'" for need in values)
            raise WorkflowError(
                f"Input {names} of stage '{stage.name}' is no artifact, "
                "and the stage does not say what it contributes to the key.",
                hints=["Define 'components(inputs)' in the stage, or 'files()' in the input."],
            )
        parts |= {f"input.{label}": part for label, part in said.items()}
    return parts


def is_nameless(components: Mapping[str, str]) -> bool:
    """Tell whether a component is valid in this process only, so nothing may go to disk."""
    return bool(nameless_labels(components))


def nameless_labels(components: Mapping[str, str]) -> list[str]:
    """Return the labels of the components that are valid in this process only."""
    return [label for label, part in components.items() if part.startswith(NAMELESS)]


def _code(stage: Stage, memo: str | None) -> str:
    if not isinstance(stage, FunctionStage):
        found = code_digest(stage, memo)
        return _number(type(stage)) if found is None else found
    function = type(stage).function
    text = function_digest(function)
    return _number(function) if text is None else fingerprint((text, toolchain_digest(memo=memo)))


def _spelling(value: Any) -> str:
    """Write an option as readable text, or as a digest."""
    if type(value) in _PLAIN or _is_plain_tuple(value):
        return show_value(value)
    if classes.has(type(value)) and is_ours(type(value).__module__):
        return show_value(value)
    return _digest(value)


def _is_plain_tuple(value: Any) -> bool:
    return type(value) is tuple and all(
        type(part) in _PLAIN or _is_plain_tuple(part) for part in value
    )


def _digest(value: Any) -> str:
    found = function_digest(value)
    return _number(value) if found is None else found


def _number(value: Any) -> str:
    """Identify objects without a digest, in this process."""
    with _numbering:  # stages that run side by side ask at once
        for number, known in enumerate(_nameless):
            if known is value:
                return f"{NAMELESS}{number}"
        _nameless.append(value)
        return f"{NAMELESS}{len(_nameless) - 1}"
