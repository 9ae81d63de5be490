"""Compare the fields that a set-up binds with the ranges that its sizes make it read and write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...runtime.calls.plan import Argument, Box, Code, Plan, Word, evaluate
from ...runtime.calls.refused_arguments import too_small
from ...runtime.language import leaves_of
from ...runtime.process import DomainError
from ..variants.naming import leaf_name


def mismatches(plan: Plan, fixed: Mapping[str, Any]) -> Iterator[DomainError]:
    """Yield an error for each bound field that is too small for ranges that are known already.

    Ranges that depend on arguments of the call, or on neighbour tables, are left to the call.
    """
    known = _Known(plan, fixed)
    seen: set[tuple[str, str]] = set()
    for access in plan.accesses:
        if not all(_is_filled(known, box) for box in access.writes):
            continue  # a statement that may write nothing may read nothing
        for done, boxes in (("writes", access.writes), ("reads", access.reads)):
            for box in boxes:
                for name, dim, error in _outside(plan, known, box, done):
                    if (name, dim) not in seen:
                        seen.add((name, dim))
                        yield error


def _is_filled(known: _Known, box: Box) -> bool:
    """Tell whether a box is known to have points."""
    bounds = [(known.value(a), known.value(b)) for a, b in zip(box.start, box.stop, strict=True)]
    return all(a is not None and b is not None and a < b for a, b in bounds)


def _outside(
    plan: Plan, known: _Known, box: Box, done: str
) -> Iterator[tuple[str, str, DomainError]]:
    argument = plan.arguments[box.argument]
    ends = [(known.value(a), known.value(b)) for a, b in zip(box.start, box.stop, strict=True)]
    if any(start is not None and stop is not None and start >= stop for start, stop in ends):
        return  # an empty box touches nothing
    for dim, (start, stop) in zip(argument.dims, ends, strict=True):
        covered = known.range(argument, dim)
        if covered is None:
            continue
        low = covered[0] if start is None else start
        high = covered[1] if stop is None else stop
        if low < covered[0] or high > covered[1]:
            yield (
                argument.name,
                dim.value,
                too_small(argument.name, dim, done, (low, high), covered),
            )


class _Known:
    """The integers of a plan as far as bound arguments determine them; None where they do not."""

    def __init__(self, plan: Plan, fixed: Mapping[str, Any]) -> None:
        self._plan = plan
        self._leaves = {
            leaf_name(name, path): leaf
            for name, value in fixed.items()
            for path, leaf in leaves_of(value)
        }

    def value(self, code: Code) -> int | None:
        """Evaluate a postfix program; a neighbour table is not known before the call."""
        return evaluate(code, self._number, lambda *_: None)

    def range(self, argument: Argument, dim: Any) -> tuple[int, int] | None:
        """Return the range of a bound field along a dimension."""
        domain = getattr(self._leaves.get(argument.name), "domain", None)
        if domain is None or dim not in domain.dims:
            return None
        ends = domain[dim].unit_range
        return ends.start, ends.stop

    def _number(self, word: Word) -> int | None:
        if word.op == "const":
            return word.value
        if word.op == "int":
            return self.value(self._plan.ints[word.value])
        argument = self._plan.arguments[word.argument]
        if word.op in ("stride", "patches"):
            return None
        if word.op == "scalar":
            value = self._leaves.get(argument.name)
            return None if value is None else int(value)
        found = self.range(argument, argument.dims[word.axis]) if argument.dims else None
        if found is None:
            return None
        return found[0] if word.op == "start" else found[1]
