"""`StandIn`: the entry of the first tier, which runs calls until compiled code is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...runtime import _core
from ...runtime.process import CompilerNotFoundError, FieldforgeError, classes
from ...runtime.start.garbage import without_collections
from ...stages.artifacts import Variant
from ..backends.first_tier import Tiers, build_after, first_tier
from ..builds.building import ENTRY
from ..builds.call_builds import CallBuild, warn_of_no_compiler
from ..builds.order import Order

NEVER: Final = float("inf")


@classes.frozen(eq=False)
class StandIn:
    """An entry of the first tier, and the build that replaces it; None if nothing does."""

    entry: _core.Entry
    build: CallBuild | None
    after: float

    @property
    def text(self) -> str:
        """What `program.variants` says while it runs calls."""
        return f"runs on the first tier, {self._outlook}: {self.calls_text}"

    @property
    def calls_text(self) -> str:
        """How many calls it has run, and how long they took."""
        calls, seconds = self.entry.first_tier or (0, 0.0)
        return f"{calls} call{'s' * (calls != 1)} of {seconds:.2g} s"

    @property
    def _outlook(self) -> str:
        if self.build is None:
            return "as option 'tiers' says"
        if self.build.error is not None:
            return "because its build failed"
        if self.after == NEVER:
            return "because there is no compiler"
        return f"and builds after {self.after:g} s"


def stand_in(
    order: Order,
    stands_in: Callable[[Variant], bool],
    tiers: Tiers,
    no_compiler: CompilerNotFoundError | None,
) -> StandIn | str:
    """Run the stages of the first tier; with `tiers="both"`, its calls ask for the build later.

    `stands_in` tells whether calls of the variant still run on the first tier. The result is a
    string where the program has no first tier: it says why.
    """
    flow = first_tier(order.backend)
    try:
        with without_collections():  # what the stages import and make stays
            results = order.engine.run(flow, order.inputs, program=order.name)
    except Exception as error:  # compiled code may do without; other errors arise there again
        return error.message if isinstance(error, FieldforgeError) else str(error)
    made: _core.Entry = results[flow.plan[-1].name].outputs[ENTRY].get()
    build, after = None, NEVER
    if tiers == "both":
        build = CallBuild(order, lambda: stands_in(order.variant))
        if no_compiler is None:
            after = build_after(order.backend)
        else:
            warn_of_no_compiler(no_compiler)
    ask = (lambda: None) if build is None else build.ask
    entry = _core.Entry(made.plan, 0, made.keepalive, threads=made.threads, ask=ask, after=after)
    return StandIn(entry, build, after)
