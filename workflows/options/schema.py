"""Schemas of the options that files may set, made from the fields of a backend's stages.

A field declares the values that it takes (`stages/option_kinds.py`). Files, the environment,
`setup` and `tune` find them here; `with_options` meets them in the stage itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...runtime.process import classes, warn_of_old
from ...stages import TUNE, WAS, Kind, Stage, kind_of
from ..backends.backend import BACKENDS, Backend

_HEAD: Final = "Attributes:"
_HIDDEN: Final = frozenset({"checked"})  # 'program.checked' sets it


@classes.frozen
class Option:
    """One option of one stage.

    Attributes:
        name: its name, as in 'codegen.parallel_from'.
        kind: the values that it takes, as the stage declares them.
        default: its value without any setting.
        about: its description.
        tune: values that tuning tries; empty if tuning leaves the option alone.
        was: a deprecated name, as in 'codegen.tiles'; empty if there is none.

    """

    name: str
    kind: Kind
    default: Any
    about: str = ""
    tune: tuple[Any, ...] = ()
    was: str = ""

    @property
    def short(self) -> str:
        """The name without its stage."""
        return self.name.rpartition(".")[2]

    def checked(self, value: Any, place: str = "") -> Any:
        """Return a value from a `place` as the stage takes it; another one is an `OptionError`."""
        return self.kind.taken(self.name, value, place)


@classes.frozen
class Schema:
    """The options of one backend that files may set.

    >>> schema_of(BACKENDS["cpu"])["codegen.jam"].default
    True
    """

    backend: str
    options: tuple[Option, ...]

    def __getitem__(self, name: str) -> Option:
        return next(option for option in self.options if option.name == name)

    def named(self, name: str, place: str = "") -> tuple[Option, ...]:
        """Return the options that a name means: one of a stage, or those of all stages.

        A warning about a deprecated name begins with the `place` where it stands.
        """
        found = tuple(option for option in self.options if name in (option.name, option.short))
        if found:
            return found
        found = tuple(
            option
            for option in self.options
            if option.was and name in (option.was, option.was.rpartition(".")[2])
        )
        for option in found:
            warn_of_old(f"{place}Option '{name}' is now '{option.short}': write that name instead.")
        return found

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
def tables() -> frozenset[str]:
    """Return the names of the options, without stages, that files write as tables."""
    every = (option for schema in schemas().values() for option in schema.options)
    return frozenset(option.short for option in every if option.kind.is_table)


@functools.cache
def schemas() -> Mapping[str, Schema]:
    """Return the schema of every ready-made backend, by name and alias."""
    return {name: schema_of(backend) for name, backend in BACKENDS.items()}


def _options(name: str, stage: Stage) -> Iterator[Option]:
    kind: Any = type(stage)
    if not classes.has(kind):
        return
    about: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        about |= _documented(each.__doc__ or "")
    for field in classes.fields(kind):
        declared = kind_of(field)
        if declared is None or not (declared.in_files and field.eq) or field.name in _HIDDEN:
            continue
        yield Option(
            f"{name}.{field.name}",
            declared,
            getattr(stage, field.name),
            about.get(field.name, ""),
            field.metadata.get(TUNE, ()),
            f"{name}.{was}" if (was := field.metadata.get(WAS)) else "",
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
