"""`Order`: one variant of one program to build, with everything that the build reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...runtime.language import Definition
from ...runtime.process import classes
from ...stages.artifacts import Bound, Variant
from ..backends.backend import Backend
from ..engine.deep import Shortcut
from ..engine.engine import Engine
from ..engine.handle import Result
from ..engine.policy import NotStoredError, Policy, current_policy
from ..graph.graph import Workflow
from .building import beyond_fields, describe_variant, entry_flow, inputs_of

if TYPE_CHECKING:  # a call on the first tier asks no other process
    from ..engine.request import Reply, Request


@classes.frozen(eq=False)
class Order:
    """One variant of a definition, the backend that builds it and the engine that runs the build.

    `finish` builds or loads the entry and hands it to the program, so that calls find it. If the
    variant `is_alone`, calls that read beyond fields build what they need when they come.
    """

    definition: Definition
    backend: Backend
    variant: Variant
    engine: Engine
    finish: Callable[[], Any] = classes.field(repr=False)
    is_alone: bool = False

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.definition.name

    @property
    def about(self) -> str:
        """A description of the variant for messages."""
        return describe_variant(self.variant)

    @property
    def flow(self) -> Workflow:
        """The stages that produce the entry."""
        return entry_flow(self.backend)

    @property
    def inputs(self) -> Mapping[str, Any]:
        """The inputs of the workflow."""
        return inputs_of(self.definition, self.variant)

    def look(self) -> Shortcut | None:
        """Look up the deep record of this build; None if the workflow has none."""
        return self.engine.look(self.flow, self.inputs, program=self.name)

    def is_stored(self) -> bool:
        """Tell whether the store has a deep record of this build."""
        found = self.look()
        return found is not None and bool(found.results)

    def missing(self) -> NotStoredError | None:
        """Return the first stage that would have to run, None if all are stored; loads nothing."""
        try:
            self._prepare("must_hit")
            self._prepare_beyond("must_hit")
        except NotStoredError as error:
            return error
        return None

    def beyond(self, policy: Policy | None = None) -> Order | None:
        """Return the order of what calls that read beyond fields run; None if no call does.

        The argument plan of this order has the answer, so it is built or looked up.
        """
        binds = [step.name for step in self.flow.plan if Bound in step.stage.provides.values()]
        if self.is_alone or not binds or self.variant.beyond:
            return None
        (bound,) = self._prepare(policy)[binds[0]].outputs.values()
        if not bound.get().plan.is_inside:
            return None
        other = classes.evolve(self, variant=beyond_fields(self.variant))
        return classes.evolve(other, finish=other._prepare)

    def request(self) -> Request | None:
        """Return the work that another process can do; None if this process must do it."""
        from ..engine.request import make_request

        return make_request(self.engine, self.flow, self.inputs, self.name)

    def build(self) -> Any:
        """Build the variant here or load it from the store, and hand the entry to the program."""
        entry = self._prepare() if current_policy() == "build_only" else self.finish()
        self._prepare_beyond()
        return entry

    def rebuild(self) -> None:
        """Run all stages here, also those whose results are stored, and replace these."""
        flow = self.flow
        self.engine.run(flow, self.inputs, program=self.name, load=False, afresh=flow.names)

    def stages(self) -> Mapping[str, Result]:
        """Return the results of all stages of a build that is done; loads nothing."""
        flow = self.flow
        return self.engine.run(flow, self.inputs, program=self.name, load=False, deep=False)

    def take(self, reply: Reply) -> Any:
        """Store the results of another process, then load the entry."""
        reply.admit(self.engine)
        return self.build()

    def _prepare_beyond(self, policy: Policy | None = None) -> None:
        other = self.beyond(policy)
        if other is not None:
            other._prepare(policy)

    def _prepare(self, policy: Policy | None = None) -> Mapping[str, Result]:
        chosen = policy or current_policy()
        may: Policy = "may_build" if chosen == "build_only" else chosen
        return self.engine.run(self.flow, self.inputs, program=self.name, load=False, policy=may)
