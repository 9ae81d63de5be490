"""The times of a build, as `build_info` receives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from ...runtime.process import classes
from ...stages import Compiled, Stage, Variant
from ..engine.engine import engine
from ..engine.handle import Result
from .program import StencilProgram

if TYPE_CHECKING:  # a call from the store does not import it, see decision 0005
    from ..builds.order import Order

TIMES: Final = ("parse_time", "module_time", "codegen_time", "build_time", "load_time")


@classes.frozen(eq=False)
class BuildTimes:
    """Writes the seconds of each part of a build into a dictionary; without one it writes nothing.

    A build in the background writes when it is done. What the store has takes no time.
    """

    info: dict[str, Any] | None

    def note(self, name: str, begin: float) -> None:
        """Note the seconds of a part that began at `begin`."""
        if self.info is not None:
            self.info[name] = perf_counter() - begin

    def listener(
        self, program: StencilProgram, awaited: set[Variant]
    ) -> Callable[[Variant, Mapping[str, Result]], None]:
        """Return a function that notes each build of a program.

        The variants `awaited` are not stored yet; maybe another process builds them.
        """

        def hear(variant: Variant, results: Mapping[str, Result]) -> None:
            order = program.order(variant, None, engine())
            kinds = {step.name: step.stage for step in order.flow.plan}
            ran = {name for name, each in results.items() if each.outcome == "ran"}
            is_new = variant in awaited or any(kinds[name].cache != "never" for name in ran)
            awaited.discard(variant)
            if is_new:
                self.add_stages(order)
            for name in ran:
                if kinds[name].cache == "never":
                    self._add("load_time", results[name].seconds)

        return hear

    def add_stages(self, order: Order) -> None:
        """Note the seconds of the stages of a build that is done."""
        if self.info is not None:
            kinds = {step.name: step.stage for step in order.flow.plan}
            for name, each in order.stages().items():
                self._add(_part(kinds[name]), each.build_seconds)

    def _add(self, name: str, seconds: float) -> None:
        if self.info is not None and name:
            self.info[name] += seconds


def _part(stage: Stage) -> str:
    """Return the part of a build that a stage belongs to; parsing is measured on its own."""
    if "definition" in stage.needs:
        return ""
    return "build_time" if Compiled in stage.provides.values() else "codegen_time"
