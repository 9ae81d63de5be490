"""Check, build and trace one definition with the engine of this process."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...runtime import _core
from ...runtime.language import Definition, Type
from ...runtime.process import LibraryError, WorkflowError, classes
from ...runtime.start.garbage import without_collections
from ...stages.artifacts import Compiled, Parsed, Variant
from ...stages.parse.stage import Check, Parse
from ...stages.parse.summary import Summary
from ..backends.backend import Backend
from ..engine.deep import Shortcut
from ..engine.engine import Engine, engine
from ..engine.events import Warned
from ..engine.handle import Handle, Result
from ..engine.policy import NotLoadedError, NotStoredError, current_policy
from ..graph.graph import Workflow

if TYPE_CHECKING:  # for traces only; a call from the store does not import it, see decision 0005
    from ..engine.inspection import Trace


ENTRY = "entry"
OUT = "out"
_CHECK = Workflow.chain(Check())
_PARSE = Workflow.chain(Parse())
_ENTRY_FLOW = "_entry_flow"


def check(definition: Definition) -> Handle:
    """Run the static checks of the language; errors point at the user's line."""
    given = {"definition": definition}
    with without_collections():  # the parser that is imported, and its trees, stay
        found = engine().run(_CHECK, given, program=definition.name, deep=False)
    return found["check"].outputs["summary"]


def summary(definition: Definition) -> Summary:
    """Return the signature of a definition and the neighbour tables that it reads."""
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
    tell: Callable[[Mapping[str, Result]], None] | None = None,
    found: Shortcut | None = None,
) -> Any:
    """Build the entry of a variant: a native entry, or a Python function.

    A build that takes more than `budget` seconds sends a warning to the observers. `tell` receives
    the results by stage. `found` is the deep record of the build, if somebody has looked it up.
    Calls that read beyond fields may need other code, which the first of them builds, see decision
    0036.
    """
    flow = entry_flow(backend)
    if current_policy() == "build_only":
        raise NotLoadedError(
            f"'{definition.name}' is called while the policy 'build_only' is active.",
            hints=["Call it outside of the block 'with policy(\"build_only\")'."],
        )
    results = _loaded(flow, inputs_of(definition, variant), definition.name, used, found)
    if tell is not None:
        tell(results)
    late = excess(definition.name, results, budget)
    if late is not None:
        used.tell(Warned(definition.name, late.stage, late.message))
    entry = results[_entry_stage(flow, backend)].outputs[ENTRY].get()
    if needs_beyond(entry):
        entry.beyond = functools.cache(lambda: _beyond(definition, backend, variant, used))
    return entry


def needs_beyond(entry: Any) -> bool:
    """Tell whether calls of an entry that read beyond fields run another one."""
    return isinstance(entry, _core.Entry) and entry.plan.is_inside


def beyond_fields(variant: Variant) -> Variant:
    """Return the variant for calls of another that read beyond fields; it fits all layouts."""
    return classes.evolve(variant, unit=(), beyond=True)


def _beyond(definition: Definition, backend: Backend, variant: Variant, used: Engine) -> Any:
    try:
        return build(definition, backend, beyond_fields(variant), used)
    except NotStoredError as error:
        raise error.explained("It is needed for a call that reads beyond a field.") from None


def _loaded(
    flow: Workflow,
    inputs: Mapping[str, Any],
    program: str,
    used: Engine,
    found: Shortcut | None,
) -> Mapping[str, Result]:
    """Run the stages up to the entry; a library that does not load is compiled once more."""
    try:
        return used.run(flow, inputs, program=program, found=found)
    except LibraryError as error:
        compiles = [step.name for step in flow.plan if Compiled in step.stage.provides.values()]
        if not compiles or current_policy() == "must_hit":
            raise
        message = f"A library is compiled again, because it does not load: {error.message}"
        used.tell(Warned(program, compiles[-1], message))
    return used.run(flow, inputs, program=program, afresh=compiles)


def entry_flow(backend: Backend) -> Workflow:
    """Return the stages that an entry of a backend depends on."""
    found: Workflow | None = vars(backend).get(_ENTRY_FLOW)
    if found is None:  # kept with the object: equal backends may differ in where their tools are
        flow = backend.workflow
        found = vars(backend)[_ENTRY_FLOW] = flow.upto(_entry_stage(flow, backend))
    return found


def trace(
    definition: Definition,
    backend: Backend,
    variant: Variant,
    until: str | None,
    budget: float | None = None,
) -> Trace:
    """Run every stage, or load its result, and return a trace of all."""
    from ..engine.inspection import make_trace

    used = engine()
    flow = backend.workflow.upto(until) if until else backend.workflow
    inputs = inputs_of(definition, variant)
    results: dict[str, Result] = dict(used.run(flow, inputs, program=definition.name, deep=False))
    late = excess(definition.name, results, budget)
    note = "" if late is None else late.message
    return make_trace(definition.name, flow.plan, results, used.store, note, inputs)


def describe_variant(variant: Variant) -> str:
    """Name a variant by its static arguments if it has any, else by its layout."""
    if variant.static:
        return ", ".join(f"{name}={value}" for name, value in variant.static)
    return variant.text.replace("\n", ", ")


def inputs_of(definition: Definition, variant: Variant) -> Mapping[str, Any]:
    """Return the inputs of a backend's workflow."""
    return {"definition": definition.origin or definition, "variant": variant}


def _entry_stage(flow: Workflow, backend: Backend) -> str:
    ends = [step.name for step in flow.plan if ENTRY in step.stage.provides]
    if len(ends) != 1:
        raise WorkflowError(
            f"The workflow of backend '{backend.name}' must have one stage that provides "
            f"'{ENTRY}', got {len(ends)}.",
            hints=["Take one branch of it with 'workflow.upto(...)'."],
        )
    return ends[0]


_NEST: Final = r"(?m)^ +nest n\d+ "
_ROW: Final = r"(?m)^ +%\d+ "


@classes.frozen
class _Excess:
    """A build that exceeded its budget: its slowest stage, and the warning."""

    stage: str
    message: str


def excess(program: str, results: Mapping[str, Result], budget: float | None) -> _Excess | None:
    """Return the warning for a build, or None; stages found in the store count no time."""
    ran = [result for result in results.values() if result.outcome == "ran"]
    total = sum(result.seconds for result in ran)
    if budget is None or total <= budget:
        return None
    slowest = max(ran, key=lambda result: result.seconds)
    return _Excess(
        slowest.name,
        f"'{program}' took {total:.2f} s to build, {budget:g} s are its budget: stage "
        f"'{slowest.name}' took {slowest.seconds:.2f} s{_size(slowest, results)}.",
    )


def _size(slowest: Result, results: Mapping[str, Result]) -> str:
    """Describe the work of a stage: values, or loop nests and lines of generated code."""
    artifacts = [_artifact(slowest)]
    if slowest.name == "compile" and "codegen" in results:
        artifacts = [_artifact(results["codegen"])]
    for artifact in artifacts:
        if hasattr(artifact, "source") and hasattr(artifact, "loops"):
            return _size_of_code(artifact.source, artifact.loops)
        values = getattr(getattr(artifact, "program", None), "values", None)
        if values is not None:
            return f" on {_many(len(values), 'value')}"
    return ""


def _size_of_code(source: str, loops: str) -> str:
    from ...stages.units import count_units  # few builds take so long

    starts = [found.start() for found in re.finditer(_NEST, loops)]
    lines, nests = source.count("\n"), _many(len(starts), "nest")
    units = count_units(source)
    where = "a translation unit" if units == 1 else f"{units} translation units"
    text = f" on {where} of {lines} lines with {nests}"
    if not starts:
        return text
    ends = [*starts[1:], len(loops)]
    rows = [len(re.findall(_ROW, loops[a:b])) for a, b in zip(starts, ends, strict=True)]
    largest = max(range(len(rows)), key=rows.__getitem__)
    return f"{text}, the largest of them nest {largest} with {_many(rows[largest], 'value')}"


def _artifact(result: Result) -> Any:
    return next((handle.get() for handle in result.outputs.values()), None)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
