"""Wrap a user's pass as a stage that runs after `lower` and infers boxes again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ...runtime.process import OptionError, classes
from .. import Artifact, Lowered, Stage


def _check_function(_: PassStage, __: object, function: Callable[..., Any]) -> None:
    name = getattr(function, "__name__", "<lambda>")
    if not callable(function) or name == "<lambda>":
        raise OptionError(
            f"A pass is a named function from 'Dataflow' to 'Dataflow', got {function!r}.",
            hints=("Write 'def my_pass(program): ...'.",),
        )


@classes.frozen
class PassStage(Stage):
    """Run a function `Dataflow -> Dataflow` on the result of `lower`.

    The stage takes the name of the function. Its key contains the function's source text and
    qualified name; if the source is not available, the engine caches the result in memory only.

    >>> def keep(program):
    ...     return program
    >>> PassStage(keep).name
    'keep'
    """

    needs: ClassVar[tuple[str, ...]] = ("lowered",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"lowered": Lowered}

    function: Callable[..., Any] = classes.field(validator=_check_function)

    @property
    def name(self) -> str:  # type: ignore[override]  # the function gives its name
        """Return the name of the function."""
        return self.function.__name__

    def environment(self) -> Mapping[str, str]:
        """Name the place of the function's definition; the engine adds a digest of its source."""
        return {"pass": f"{self.function.__module__}.{self.function.__qualname__}"}

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Apply the pass and verify its result."""
        from ..ir.dataflow import Dataflow
        from ..ir.verify import verify
        from .boxes.infer_boxes import infer_boxes

        result = self.function(inputs["lowered"].program)
        if not isinstance(result, Dataflow):
            raise OptionError(
                f"Pass '{self.name}' returned a '{type(result).__name__}', expected a 'Dataflow'."
            )
        return {"lowered": verify(infer_boxes(verify(Lowered(result)).program))}
