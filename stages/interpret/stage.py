"""The stage `interpret`: a callable that interprets dataflow, slow, as the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from ...runtime.process import classes
from .. import Artifact, Lowered, Stage


@classes.frozen
class Entry:
    """The interpreted program; call it with the arguments in the order of the parameters."""

    lowered: Lowered

    def __call__(self, *arguments: Any, offset_provider: Mapping[str, Any] | None = None) -> None:
        """Check types and ranges as a compiled program does, then run."""
        from .evaluation import interpret

        interpret(self.lowered, self.check(*arguments, offset_provider=offset_provider))

    def check(
        self, *arguments: Any, offset_provider: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Check types and ranges, and return the arguments as leaves by name; runs nothing."""
        from .arguments import arguments_of, tables_of
        from .evaluation import check_ranges

        program = self.lowered.program
        leaves = arguments_of(program, arguments) | tables_of(program, offset_provider or {})
        for statement in program.statements:
            check_ranges(program, statement, leaves)
        return leaves

    @property
    def text(self) -> str:
        """The listing of the program."""
        return self.lowered.text

    def files(self) -> Mapping[str, bytes]:
        """Return the files of the program."""
        return self.lowered.files()

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the program back."""
        return cls(Lowered.from_files(files))


@classes.frozen
class Interpret(Stage):
    """Make a callable from a lowered program without generating or compiling code."""

    name: ClassVar[str] = "interpret"
    needs: ClassVar[tuple[str, ...]] = ("lowered",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"entry": Entry}
    cache: ClassVar[Literal["disk", "memory", "never"]] = "never"

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Wrap `lowered`."""
        return {"entry": Entry(inputs["lowered"])}
