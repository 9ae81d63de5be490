"""Check, build and trace one definition by the engine of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ...runtime.language.definition import Definition
from ...runtime.language.types import Type
from ...runtime.process.errors import WorkflowError
from ...stages.artifacts import Parsed, Variant
from ...stages.parse.stage import Check, Parse
from ...stages.parse.summary import Summary
from ..backends.backend import Backend
from ..graph.graph import Workflow
from .build_budget import excess
from .engine import Engine
from .events import Warned
from .handle import Handle, Result
from .policy import NotLoadedError, current_policy
from .session import engine

if TYPE_CHECKING:  # for those who look inside; a call from the store does not, see decision 0005
    from .inspection import Trace

ENTRY = "entry"
OUT = "out"
_CHECK = Workflow.chain(Check())
_PARSE = Workflow.chain(Parse())
_entry_flows: WeakKeyDictionary[Backend, Workflow] = WeakKeyDictionary()


def check(definition: Definition) -> Handle:
    """Run the static checks of the language; an error points at the user's own line."""
    found = engine().run(_CHECK, {"definition": definition}, program=definition.name, deep=False)
    return found["check"].outputs["summary"]


def summary(definition: Definition) -> Summary:
    """Return what calls have to know of a definition: its signature and its tables."""
    found: Summary = check(definition).get()
    return found


def parsed(definition: Definition) -> Parsed:
    """Return the typed tree of a definition."""
    found = engine().run(_PARSE, {"definition": definition}, program=definition.name, deep=False)
    tree: Parsed = found["parse"].outputs["parsed"].get()
    return tree


def call_parameters(summary: Summary) -> tuple[tuple[str, Type], ...]:
    """Return the parameters of a call with their types; the output of an operator comes last."""
    signature = summary.signature
    own = signature.parameters
    return own if signature.result is None else (*own, (OUT, signature.result))


def build(
    definition: Definition,
    backend: Backend,
    variant: Variant,
    used: Engine,
    budget: float | None = None,
) -> Any:
    """Return what runs a definition for a variant: a native entry, or a Python function.

    A build that takes more seconds than `budget` is told of, and goes on.
    """
    flow = entry_flow(backend)
    if current_policy() == "build_only":
        raise NotLoadedError(
            f"'{definition.name}' is called where programs are only built.",
            hints=["Call it outside of the block 'with policy(\"build_only\")'."],
        )
    results = used.run(flow, inputs_of(definition, variant), program=definition.name)
    late = excess(definition.name, results, budget)
    if late is not None:
        used.tell(Warned(definition.name, late.stage, late.message))
    last = _entry_stage(flow, backend)
    return results[last].outputs[ENTRY].get()


def entry_flow(backend: Backend) -> Workflow:
    """Return the stages that an entry of a backend depends on."""
    found = _entry_flows.get(backend)
    if found is None:
        flow = backend.workflow
        found = _entry_flows[backend] = flow.upto(_entry_stage(flow, backend))
    return found


def trace(
    definition: Definition,
    backend: Backend,
    variant: Variant,
    until: str | None,
    budget: float | None = None,
) -> Trace:
    """Run every stage, or find its result, and show them all."""
    from .inspection import make_trace

    used = engine()
    flow = backend.workflow.upto(until) if until else backend.workflow
    inputs = inputs_of(definition, variant)
    results: dict[str, Result] = dict(used.run(flow, inputs, program=definition.name, deep=False))
    late = excess(definition.name, results, budget)
    note = "" if late is None else late.message
    return make_trace(definition.name, flow.plan, results, used.store, note, inputs)


def inputs_of(definition: Definition, variant: Variant) -> Mapping[str, Any]:
    """Return what a workflow of ours needs from outside."""
    return {"definition": definition, "variant": variant}


def _entry_stage(flow: Workflow, backend: Backend) -> str:
    ends = [step.name for step in flow.plan if ENTRY in step.stage.provides]
    if len(ends) != 1:
        raise WorkflowError(
            f"The workflow of backend '{backend.name}' must have one stage that provides "
            f"'{ENTRY}', got {len(ends)}.",
            hints=["Take one branch of it with 'workflow.upto(...)'."],
        )
    return ends[0]
