from __future__ import annotations

from collections.abc import Callable

import pytest

from fieldforge.runtime.language.dimension import flip_staggered
from fieldforge.stages.codegen.dace.limits import refuse_unsupported
from fieldforge.stages.codegen.errors import CodegenError
from fieldforge.stages.ir.bounds import Const
from fieldforge.stages.ir.dataflow import Body, Side
from fieldforge.stages.lower.graph import Graph

from ..grids import C2E, C2E_DIM, C, E, I, K, make
from ..programs import REAL, whole


def scan(graph: Graph) -> int:
    body = Graph()
    state = body.scalar("s0", REAL)
    first = (graph.literal(REAL, "0.0"),)
    ends = Const(0), Const(3)
    return graph.scan(Body(tuple(body.values), (state,)), first, (), K, True, ends)[0]


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("reads a neighbour", lambda g: g.gather(g.input("e", (E,), REAL), C2E, 0)),
        ("reads all neighbours", lambda g: g.neighbours(g.input("e", (E,), REAL), C2E)),
        (
            "reduces over neighbours",
            lambda g: g.reduce("sum", g.input("w", (C, C2E_DIM), REAL), C2E),
        ),
        ("reads one slot", lambda g: g.local(g.input("w", (C, C2E_DIM), REAL), C2E_DIM, 0)),
        (
            "reads at an offset that a field gives",
            lambda g: g.displace(g.input("u", (K,), REAL), K, g.input("by", (K,), "int32")),
        ),
        (
            "chooses by index",
            lambda g: g.region(
                ((Side(K, Const(1), None),),), g.input("u", (K,), REAL), g.literal(REAL, "1.0")
            ),
        ),
        ("has a scan", scan),
        (
            "reads a staggered field",
            lambda g: g.shift(g.input("u", (I,), REAL), I, 0, flip_staggered(I)),
        ),
    ],
)
def test_what_dace_cannot_do_yet_is_named(words: str, value: Callable[[Graph], int]) -> None:
    graph = Graph()
    row = value(graph)
    box = whole("out", (C,))
    lowered = make(graph, [("out", REAL, (C,))], [("out", box, row)])
    with pytest.raises(
        CodegenError, match=f"Program 'p' {words}.*not supported by the dace backend"
    ):
        refuse_unsupported(lowered.program)
