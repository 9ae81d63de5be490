"""Build variants of one decorated function, and remember which there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from ..runtime.definition import Definition
from ..runtime.errors import FieldforgeError, WorkflowError
from ..runtime.settings import current
from ..runtime.types import Type
from ..stages.artifacts import Parsed, Variant
from ..stages.parse.stage import Parse
from .backend import Backend
from .engine import Engine
from .graph import Workflow
from .handle import Result
from .session import engine
from .variants import default_variant, variant_of

if TYPE_CHECKING:  # for those who look inside; a call from the store does not, see decision 0005
    from ..stages.ir import syntax
    from .inspection import Trace

ENTRY = "entry"
OUT = "out"
_CHECK = Workflow.chain(Parse())


class NotCompiledError(FieldforgeError, RuntimeError):
    """A call needs a variant that was not compiled, and may not compile it."""


def check(definition: Definition) -> None:
    """Run the static checks of the language; an error points at the user's own line."""
    engine().run(
        _CHECK, {"definition": definition}, program=definition.name, deep=False, trust=True
    )


def parsed(definition: Definition) -> Parsed:
    """Return the typed tree of a definition."""
    found = engine().run(_CHECK, {"definition": definition}, program=definition.name, deep=False)
    tree: Parsed = found["parse"].outputs["parsed"].get()
    return tree


def parameter_types(root: syntax.Operator | syntax.Program) -> tuple[tuple[str, Type], ...]:
    """Return the parameters of a call with their types; an operator's output comes last."""
    from ..stages.ir import syntax

    own: tuple[tuple[str, Type], ...] = tuple((each.name, each.type) for each in root.parameters)
    return (*own, (OUT, root.result)) if isinstance(root, syntax.Operator) else own


def build(definition: Definition, backend: Backend, variant: Variant) -> Any:
    """Return what runs a definition for a variant: a native entry, or a Python function."""
    flow = backend.workflow
    last = _entry_stage(flow, backend)
    results = engine().run(
        flow, _inputs(definition, variant), until=[last], program=definition.name
    )
    return results[last].outputs[ENTRY].get()


def trace(
    definition: Definition, backend: Backend, variant: Variant | None, until: str | None
) -> Trace:
    """Run every stage, or find its result, and show them all; without a variant the default one."""
    from .inspection import make_trace

    used = engine()
    flow = backend.workflow.upto(until) if until else backend.workflow
    first: dict[str, Any] = {}
    if "variant" in flow.inputs and variant is None:
        end = next(step.name for step in flow.plan if "parsed" in step.stage.provides)
        first |= _run(used, flow.upto(end), definition, Variant())
        variant = default_variant(parameter_types(first[end].outputs["parsed"].get().root))
    results = _run(used, flow, definition, variant or Variant()) | first
    return make_trace(definition.name, flow.plan, results, used.store)


def _run(
    used: Engine, flow: Workflow, definition: Definition, variant: Variant
) -> dict[str, Result]:
    inputs = _inputs(definition, variant)
    return dict(used.run(flow, inputs, program=definition.name, deep=False))


def _inputs(definition: Definition, variant: Variant) -> Mapping[str, Any]:
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


@attrs.define(eq=False)
class Variants:
    """The variants of one function under one backend.

    `source` gives the definition as it is now; `add` takes each new entry.
    """

    source: Callable[[], Definition]
    backend: Backend | None
    enable_jit: bool | None
    parameters: tuple[str, ...]
    add: Callable[[Any], Any] = lambda entry: entry
    table: dict[Variant, Any] = attrs.field(factory=dict)

    def entry(self, variant: Variant) -> Any:
        """Return the entry of a variant, built if there is none yet."""
        found = self.table.get(variant)
        if found is None:
            assert self.backend is not None, "embedded functions are not built"
            found = build(self.source(), self.backend, variant)
            known = self.table.setdefault(variant, found)
            if known is found:
                self.add(found)
            found = known
        return found

    def on_miss(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Build what a call needs; the call is then tried again."""
        variant = variant_of(self.parameters, args, kwargs)
        if variant in self.table:
            variant = Variant(domain=variant.domain)  # fits any layout
        self.allow(variant, kwargs.get("enable_jit"))
        self.entry(variant)

    def allow(self, variant: Variant, enable_jit: bool | None) -> None:
        """Refuse to compile at a call where that is switched off; what the call says wins."""
        choices = (enable_jit, self.enable_jit, current().enable_jit)
        allowed = next(choice for choice in choices if choice is not None)
        if not allowed and variant not in self.table:
            name = self.source().name
            raise NotCompiledError(
                f"No program compiled for this set of static arguments of '{name}': "
                f"{variant.text.replace(chr(10), ', ') or 'none'}.",
                hints=[f"Call '{name}.compile()' first, or allow it with 'enable_jit=True'."],
            )

    def default(self, domain: bool = False) -> Variant:
        """Return the variant for fields that our own constructors have made."""
        return default_variant(parameter_types(parsed(self.source()).root), domain)

    @property
    def text(self) -> str:
        """The variants that there are, one a line."""
        rows = [variant.text.replace("\n", "; ") or "any layout" for variant in self.table]
        return "\n".join(f"  {number}  {row}" for number, row in enumerate(rows)) or "  none yet"
