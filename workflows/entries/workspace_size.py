"""Compute the memory for the temporaries of a call, by the formula of its argument plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...runtime.calls.plan import Argument, Code, Plan, Word, evaluate
from ...runtime.fields import first
from ...runtime.language import Definition, Dimension, Domain, domain as make_domain, leaves_of
from ...runtime.process import ArgumentError
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from ..builds.building import trace
from ..variants.naming import leaf_name

BIND: Final = "bind"


def workspace_size(
    definition: Definition,
    backend: Backend,
    variant: Variant,
    given: Mapping[str, Any],
    provider: Mapping[str, Any] | None,
) -> int:
    """Return the bytes for given arguments, domains of arguments, or extents by dimension."""
    if BIND not in dict(backend.workflow.nodes):
        return 0
    plan: Plan = trace(definition, backend, variant, BIND)[BIND].artifact.plan
    sizes = _Sizes(plan, _leaves(plan, given), given, provider or {})
    return max(sizes.value(plan.workspace), 0)


class _Sizes:
    """Evaluates the integers of a plan from the given sizes."""

    def __init__(
        self,
        plan: Plan,
        leaves: Mapping[str, Any],
        given: Mapping[str, Any],
        provider: Mapping[str, Any],
    ) -> None:
        self._plan = plan
        self._leaves = leaves
        self._given = given
        self._provider = provider

    def value(self, code: Code) -> int:
        """Evaluate a postfix program."""
        found = evaluate(code, self._number, self._entry)
        assert found is not None  # a missing size is an error
        return found

    def _number(self, word: Word) -> int:
        match word.op:
            case "const":
                return word.value
            case "int":
                return self.value(self._plan.ints[word.value])
            case "patches":
                return 0  # nest by nest: with lists of patches a call needs no more
        argument = self._plan.arguments[word.argument]
        if word.op == "scalar":
            return int(self._asked(argument.name))
        start, stop = self._range(argument, argument.dims[word.axis])
        return start if word.op == "start" else stop

    def _range(self, argument: Argument, dim: Dimension) -> tuple[int, int]:
        box = self._leaves.get(argument.name)
        if argument.kind == "table":
            box = self._provider.get(argument.name)
        found = _domain(box, argument.name)
        if found is None:
            extent = self._given.get(dim.value)
            if extent is None:
                raise _missing(self._plan, dim.value, f"the extent of '{argument.name}' along it")
            found = make_domain({dim: extent})
        if dim not in found.dims:
            raise ArgumentError(f"Field '{argument.name}' needs a range along '{dim.value}'.")
        ends = found[dim].unit_range
        if not ends.is_finite():
            raise ArgumentError(f"The range of '{argument.name}' along '{dim.value}' has no end.")
        return first(ends), first(ends) + len(ends)

    def _entry(self, word: Word, start: int, stop: int) -> int:
        from ...stages.interpret.accesses import extreme

        name = self._plan.arguments[word.argument].name
        if name not in self._provider:
            raise _missing(self._plan, "offset_provider", f"the neighbour table '{name}'")
        return extreme(self._provider[name], word.op, start, stop, word.slots)

    def _asked(self, name: str) -> Any:
        if name not in self._leaves:
            raise _missing(self._plan, name, "its value")
        return self._leaves[name]


def _leaves(plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given arguments by the names of their leaves."""
    return {
        leaf_name(name, path): leaf
        for name, value in given.items()
        if name in plan.parameters
        for path, leaf in ([((), value)] if isinstance(value, Mapping) else leaves_of(value))
    }


def _domain(value: Any, name: str) -> Domain | None:
    if value is None:
        return None
    found = getattr(value, "domain", value)
    try:
        return make_domain(found)
    except Exception as error:
        raise ArgumentError(
            f"Expected a field or a domain for '{name}', got '{type(value).__name__}'."
        ) from error


def _missing(plan: Plan, name: str, what: str) -> ArgumentError:
    return ArgumentError(
        f"The workspace of '{plan.program}' depends on '{name}', {what}, which is not given.",
        hint=f"Call 'workspace_size({name}=...)'.",
    )
