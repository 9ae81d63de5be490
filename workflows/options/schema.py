"""Schemas of the options that files may set, made from the fields of a backend's stages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from ...runtime.process.errors import OptionError
from ...stages.base import TUNE, Stage
from ..backends.backend import Backend
from ..backends.ready_made import BACKENDS

_HEAD: Final = "Attributes:"
_HIDDEN: Final = frozenset({"checked"})  # 'program.checked' sets it


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_words(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


# By the annotation of the field; other fields, such as targets and paths, are set in Python only.
_KINDS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("an integer", _is_whole),
    "int | None": ("an integer", _is_whole),
    "float": ("a number", lambda value: _is_whole(value) or isinstance(value, float)),
    "str": ("a string", lambda value: isinstance(value, str)),
    "str | None": ("a string", lambda value: isinstance(value, str)),
    "tuple[str, ...]": ("a list of strings", _is_words),
    "tuple[PassName, ...]": ("a list of strings", _is_words),
}


@attrs.frozen
class Option:
    """One option of one stage.

    Attributes:
        name: its name, as in 'codegen.parallel_from'.
        kind: its type, as the stage declares it.
        default: its value without any setting.
        about: its description.
        tune: values that tuning tries; empty if tuning leaves the option alone.

    """

    name: str
    kind: str
    default: Any
    about: str = ""
    tune: tuple[Any, ...] = ()

    @property
    def short(self) -> str:
        """The name without its stage."""
        return self.name.rpartition(".")[2]

    def checked(self, value: Any) -> Any:
        """Return a value from a file as the stage takes it; another type is an `OptionError`."""
        said, fits = _KINDS[self.kind]
        if not fits(value):
            raise OptionError(f"Option '{self.name}' takes {said}, got '{value!r}'.")
        return tuple(value) if isinstance(value, list) else value


@attrs.frozen
class Schema:
    """The options of one backend that files may set.

    >>> schema_of(BACKENDS["cpu"])["codegen.jam"].default
    True
    """

    backend: str
    options: tuple[Option, ...]

    def __getitem__(self, name: str) -> Option:
        return next(option for option in self.options if option.name == name)

    def named(self, name: str) -> tuple[Option, ...]:
        """Return the options that a name means: one of a stage, or those of all stages."""
        return tuple(option for option in self.options if name in (option.name, option.short))

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that means an option, short ones too."""
        both = (name for option in self.options for name in (option.short, option.name))
        return tuple(dict.fromkeys(both))


def schema_of(backend: Backend) -> Schema:
    """Return the schema of a backend."""
    found: Schema | None = vars(backend).get("_schema")
    if found is None:
        options = tuple(
            option for name, stage in backend.workflow.nodes for option in _options(name, stage)
        )
        found = vars(backend)["_schema"] = Schema(backend.name, options)
    return found


@functools.cache
def schemas() -> Mapping[str, Schema]:
    """Return the schema of every ready-made backend, by name and alias."""
    return {name: schema_of(backend) for name, backend in BACKENDS.items()}


def _options(name: str, stage: Stage) -> Iterator[Option]:
    kind: Any = type(stage)
    if not attrs.has(kind):
        return
    about = _documented(kind.__doc__ or "")
    for field in attrs.fields(kind):
        is_settable = field.init and field.eq and str(field.type) in _KINDS
        if is_settable and field.name not in _HIDDEN:
            default = getattr(stage, field.name)
            yield Option(
                f"{name}.{field.name}",
                str(field.type),
                default,
                about.get(field.name, ""),
                field.metadata.get(TUNE, ()),
            )


def _documented(text: str) -> dict[str, str]:
    """Return the description of each attribute in a docstring."""
    found: dict[str, str] = {}
    last = ""
    for line in text.partition(_HEAD)[2].splitlines():
        name, colon, rest = line.strip().partition(": ")
        if colon and name.isidentifier():
            last, found[name] = name, rest
        elif line.strip() and last:
            found[last] += f" {line.strip()}"
    return found
