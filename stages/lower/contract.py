"""Contract a product and the sum that uses it into one fused multiply-add.

`a * b + c` then rounds once instead of twice. The IR decides this, not the compiler, so all
backends compute the same bits. The pass contracts a product only if nothing else uses it and if it
varies over all dimensions of the sum, so no value is computed more often than before. A value at
several places is contracted at all of them or at none, so that it stays one value: another place of
the sum that uses the product counts as another use. If both
operands of a sum are products, it contracts the left one. `a * b - c` becomes `fma(a, b, -c)`, `c -
a * b` becomes `fma(-a, b, c)`. In columns that act, no block may begin or end between the two, so a
loop repeats no more than before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from ...runtime.language import FLOATS
from ...runtime.process import classes
from ..ir.column_rows import Column, Marker
from ..ir.dataflow import Body, Dataflow, Map, Ref, Scan, Shift, Value
from .alike import places_of, relative
from .graph import ColumnRows, Graph
from .rewrite import with_operands, with_values


def contract(
    program: Dataflow,
    kept: frozenset[Ref] = frozenset(),
    kept_bodies: frozenset[Body] = frozenset(),
) -> Dataflow:
    """Fuse multiply-adds in the program, its scans and its columns, but not what is kept."""
    bodies: dict[Body, Body] = {body: body for body in kept_bodies}
    values: list[Value] = []
    for value in program.values:
        if isinstance(value, Scan):
            if value.body not in bodies:
                bodies[value.body] = _body(value.body)
            values.append(classes.evolve(value, body=bodies[value.body]))
        elif isinstance(value, Column):
            acts = ColumnRows()
            _contracted(acts, value.body, ())
            values.append(classes.evolve(value, body=tuple(acts.values)))
        else:
            values.append(value)
    roots = [store.value for statement in program.statements for store in statement.stores]
    graph = Graph()
    rows = _contracted(graph, values, roots, kept)
    return with_values(program, graph, rows.__getitem__)


def _body(body: Body) -> Body:
    graph = Graph()
    rows = _contracted(graph, body.values, body.results)
    return Body(tuple(graph.values), tuple(rows[each] for each in body.results))


def _contracted(
    graph: Graph, values: Sequence[Value], roots: Iterable[Ref], kept: frozenset[Ref] = frozenset()
) -> dict[Ref, Ref]:
    """Add the new rows to a graph; return the new place of each old row but contracted products."""
    products = _products(values, roots)
    chosen = {row: product for row, product in products.items() if row not in kept}
    absorbed = frozenset(chosen.values())
    rows: dict[Ref, Ref] = {}
    for row, value in enumerate(values):
        if row in chosen:
            rows[row] = _fused(graph, values, row, chosen[row], rows)
        elif row not in absorbed:
            rows[row] = graph.add(with_operands(value, rows.__getitem__))
    return rows


def _products(values: Sequence[Value], roots: Iterable[Ref]) -> dict[Ref, Ref]:
    """Return the product for each sum that the pass contracts."""
    uses = _uses(values, roots)
    blocks = list(accumulate(isinstance(value, Marker) for value in values))
    chosen: dict[Ref, Ref] = {}
    for row, value in enumerate(values):
        if isinstance(value, Map) and value.op in ("add", "sub") and value.dtype in FLOATS:
            for arg in value.args:
                product = values[arg]
                is_product = isinstance(product, Map) and product.op == "mul"
                is_alike = product.dims == value.dims and blocks[arg] == blocks[row]
                if is_product and uses[arg] == 1 and is_alike:
                    chosen[row] = arg
                    break
    return chosen


def _uses(values: Sequence[Value], roots: Iterable[Ref]) -> list[int]:
    """Return how often each row is used, at whatever place."""
    places = places_of(values)
    uses: dict[int, set[object]] = {place.value: set() for place in places}
    for root in roots:
        uses[places[root].value].add(("root", root))
    for row, value in enumerate(values):
        base = dict(places[row].offsets)
        for number, arg in enumerate(value.operands):
            at = places[arg]
            if isinstance(value, Shift):
                uses[at.value].add("shift")
            else:
                by = relative(values, arg, at, base)
                uses[at.value].add((places[row].value, number, by))
    return [len(uses[place.value]) for place in places]


def _fused(
    graph: Graph, values: Sequence[Value], row: Ref, product: Ref, rows: dict[Ref, Ref]
) -> Ref:
    total, factors = values[row], values[product]
    assert isinstance(total, Map)
    assert isinstance(factors, Map)
    left, right = (rows[arg] for arg in factors.args)
    first = total.args[0] == product
    other = rows[total.args[1] if first else total.args[0]]
    if total.op == "sub":
        if first:
            other = graph.map("neg", (other,))
        else:
            left = graph.map("neg", (left,))
    return graph.map("fma", (left, right, other))
