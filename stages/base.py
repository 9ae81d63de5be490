"""Stages: named, versioned, pure steps from artifacts to artifacts.

An *artifact* is a frozen value that a person can read (`text`) and the store
can keep (`files`, canonical bytes by name, no pickle). A *stage* is a frozen
attrs class whose fields are exactly the options that change its result; it has
named input and output ports, and the engine does everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Protocol, Self, runtime_checkable

from ..runtime.process import classes

TUNE: Final = "tune"  # the metadata of an option that tuning may change
WAS: Final = "was"  # the metadata of an option with a deprecated name
VALUES: Final = "values"  # in its place: lists of values of the dataflow IR


@runtime_checkable
class Artifact(Protocol):
    """A value between two stages."""

    @property
    def text(self) -> str:
        """The artifact in readable form."""

    def files(self) -> Mapping[str, bytes]:
        """Canonical bytes by file name: equal artifacts have equal files."""

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Rebuild the artifact from its `files`."""


class Stage:
    """A pure step: `run` takes the artifacts of `needs` and returns those of `provides`.

    Subclasses are `@classes.frozen`. The key of a result is made of the stage's
    name, version, code, options, `environment()` and the content of its inputs.

    Attributes:
        name: verb that names the stage in workflows, traces and keys.
        version: bump it when the meaning changes and the code digest cannot tell.
        needs: input ports; a port that no stage provides is an input of the workflow.
        provides: output ports, each with the class of its artifact.
        cache: where the engine keeps results: on disk, in this process, or nowhere.
        is_awaited: whether processes that want the same result wait for the first of them. A
            stage of some milliseconds takes less than the lock costs.
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1"
    needs: ClassVar[tuple[str, ...]]
    provides: ClassVar[Mapping[str, type[Artifact]]]
    cache: ClassVar[Literal["disk", "memory", "never"]] = "disk"
    is_awaited: ClassVar[bool] = True

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Return the artifacts of the output ports: a pure function of options and inputs."""
        raise NotImplementedError(f"Stage '{self.name}' does not say what it does.")

    def environment(self) -> Mapping[str, str]:
        """Labelled key parts beyond options and inputs, such as the compiler's identity."""
        return {}

    def components(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        """Labelled key parts of inputs that are not artifacts, such as a `Definition`."""
        return {}

    def holds(self, outputs: Mapping[str, Mapping[str, bytes]]) -> bool:
        """Tell whether stored outputs (files by port) are valid, as far as keys cannot tell."""
        return True

    def after_passes(self, **inputs: Any) -> Mapping[str, str]:
        """Run the step again and return the listing of the IR after each of its passes, by name."""
        return {}

    def pages_after_passes(self, **inputs: Any) -> Mapping[str, str]:
        """Do the same, and return pages for a browser, if the stage has a viewer of its IR."""
        return {}

    def prerequisites(self, inputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """Return inputs on which this stage must run first; the results arrive as `earlier`."""
        return ()


class Numbers:
    """A value with several numbers; subclasses are frozen classes of attrs.

    A number that is left out has its default.
    """

    __slots__ = ()

    @property
    def given(self) -> dict[str, int]:
        """The numbers that differ from their defaults, by name."""
        kind: Any = type(self)
        values = {field: getattr(self, field.name) for field in classes.fields(kind)}
        return {field.name: value for field, value in values.items() if value != field.default}

    @property
    def table(self) -> str:
        """The same as a table of TOML."""
        return f"{{{', '.join(f'{name} = {value}' for name, value in self.given.items())}}}"

    def __repr__(self) -> str:
        values = (f"{name}={value}" for name, value in self.given.items())
        return f"{type(self).__name__}({', '.join(values)})"
