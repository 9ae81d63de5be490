"""Outputs that an adjoint reads as the program left them, and does not compute again.

The sweep goes through the operations that compute such a value; partial derivatives read the field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...runtime.process import DerivativeError, classes
from ..ir.dataflow import Dataflow, Input, Ref, Region, Store, Value
from ..lower.rewrite import reachable
from .joining import joined


def with_kept(
    program: Dataflow, final: Sequence[str], keep: Sequence[str]
) -> tuple[Dataflow, dict[Ref, Input]]:
    """Return the program as one statement that writes `final`, and the rows that fields hold."""
    made = joined(program, (*final, *(name for name in keep if name not in final)))
    (statement,) = made.statements
    leaves = {leaf.name: leaf for leaf in program.leaves}
    users = Counter(arg for value in made.values for arg in {*value.operands})
    users.update(store.value for store in statement.stores)
    rows: dict[Ref, Input] = {}
    for store in statement.stores:
        if store.target in keep:
            leaf = leaves[store.target]
            held = Input(name=leaf.name, dims=leaf.dims, dtype=leaf.dtype)
            rows |= dict.fromkeys(_held(made.values, store.value, users), held)
    stores = tuple(store for store in statement.stores if store.target in final)
    return classes.evolve(made, statements=(classes.evolve(statement, stores=stores),)), rows


def _held(values: Sequence[Value], row: Ref, users: Mapping[Ref, int]) -> Iterator[Ref]:
    """Yield the rows that a field holds: what is stored, and its parts that nothing else reads.

    What is stored on a box is a region, and around it the field keeps what it had.
    """
    value = values[row]
    yield row
    if isinstance(value, Region):
        for each in (value.then, value.otherwise):
            if users[each] == 1 and values[each].dims == value.dims and values[each].operands:
                yield from _held(values, each, users)


def reading_kept(
    values: Iterable[Value], kept: Mapping[Ref, Input], stores: Iterable[Store]
) -> tuple[Value, ...]:
    """Return the rows of an adjoint, which read the fields `kept`; not also those at entry."""
    made = tuple(kept.get(row, value) for row, value in enumerate(values))
    names = {each.name for each in kept.values()}
    for row in reachable(made, (store.value for store in stores)):
        value = made[row]
        if isinstance(value, Input) and value.name in names and row not in kept:
            raise DerivativeError(
                f"'keep' names '{value.name}', and the adjoint also needs its value at entry.",
                hint="Keep fields that the program writes before it reads them.",
            )
    return made
