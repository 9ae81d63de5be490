from __future__ import annotations

import pytest

from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.ir.dataflow import Dataflow, Input, Leaf, Shift, Statement, Store
from fieldforge.stages.ir.dataflow_text import parse
from fieldforge.stages.lower.domains import whole
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.lower.push_shifts import SPREAD, push_shifts
from fieldforge.stages.lower.remove_dead import remove_dead

from .trees import I, J

HEAD = """\
program run(u, a, out)
dimension I horizontal
dimension J horizontal
field u: [I, J] float64
field a: [J] float64
field out: [I, J] float64
"""
WRITE = """\
statement
  out[I: start(out, I) .. stop(out, I), J: start(out, J) .. stop(out, J)] = """


def pushed(rows: str, root: str) -> str:
    text = remove_dead(push_shifts(parse(HEAD + rows + WRITE + root + "\n")[0]))
    shown = Lowered(text).text
    assert shown.startswith(HEAD)
    return shown.removeprefix(HEAD).partition("statement")[0]


def stencil(build) -> Dataflow:
    """A program out = build(graph, u) over I and J."""
    graph = Graph()
    leaves = (
        Leaf("u", (0,), "field", "float64", (I, J)),
        Leaf("out", (1,), "field", "float64", (I, J)),
    )
    root = build(graph, graph.input("u", (I, J), "float64"))
    statement = Statement((Store("out", whole(leaves[1]), root),))
    return Dataflow("run", ("u", "out"), leaves, tuple(graph.values), (statement,))


def test_a_shift_of_a_sum_is_the_sum_of_shifts_and_skips_what_does_not_vary():
    rows = """\
%0 = input u : [I, J] float64
%1 = input a : [J] float64
%2 = literal 2.0 : float64
%3 = mul %1 %2 : [J] float64
%4 = add %0 %3 : [I, J] float64
%5 = shift %4 I+1 : [I, J] float64
"""
    assert (
        pushed(rows, "%5")
        == """\
%0 = input u : [I, J] float64
%1 = shift %0 I+1 : [I, J] float64
%2 = input a : [J] float64
%3 = literal 2.0 : float64
%4 = mul %2 %3 : [J] float64
%5 = add %1 %4 : [I, J] float64
"""
    )


def test_shifts_of_shifts_add_up_in_the_order_of_the_dimensions():
    rows = """\
%0 = input u : [I, J] float64
%1 = shift %0 J-1 : [I, J] float64
%2 = neg %1 : [I, J] float64
%3 = shift %2 I+2 : [I, J] float64
%4 = neg %3 : [I, J] float64
%5 = shift %4 J+3 : [I, J] float64
"""
    assert (
        pushed(rows, "%5")
        == """\
%0 = input u : [I, J] float64
%1 = shift %0 I+2 : [I, J] float64
%2 = shift %1 J+2 : [I, J] float64
%3 = neg %2 : [I, J] float64
%4 = neg %3 : [I, J] float64
"""
    )


def test_the_same_net_offset_is_one_row_and_none_is_no_shift():
    rows = """\
%0 = input u : [I, J] float64
%1 = neg %0 : [I, J] float64
%2 = shift %1 I+1 : [I, J] float64
%3 = shift %2 I-1 : [I, J] float64
%4 = add %3 %1 : [I, J] float64
"""
    assert (
        pushed(rows, "%4")
        == """\
%0 = input u : [I, J] float64
%1 = neg %0 : [I, J] float64
%2 = add %1 %1 : [I, J] float64
"""
    )


def test_a_laplacian_of_a_laplacian_has_shifts_of_inputs_only():
    def laplacian(graph, u):
        around = [graph.shift(u, dim, n) for dim in (I, J) for n in (1, -1)]
        total = around[0]
        for each in around[1:]:
            total = graph.map("add", (total, each))
        return graph.map("sub", (total, u))

    program = push_shifts(stencil(lambda graph, u: laplacian(graph, laplacian(graph, u))))

    bases = [program.values[each.arg] for each in program.values if isinstance(each, Shift)]
    assert len(bases) == 12
    assert all(isinstance(base, Input | Shift) for base in bases)


@pytest.mark.parametrize("length", [50, 400])
def test_a_long_chain_of_stencils_grows_no_more_than_the_cost_rule_says(length):
    def chained(graph, u):
        for index in range(length):
            ahead = graph.shift(u, (I, J)[index % 2], 1)
            u = graph.map("sub", (ahead, u))
        return u

    program = stencil(chained)

    result = push_shifts(program)

    assert len(result.values) <= SPREAD * len(program.values)
    kept = [each for each in result.values if isinstance(each, Shift)]
    assert any(not isinstance(result.values[each.arg], Input | Shift) for each in kept)


def test_the_normal_form_is_a_fixed_point():
    program = remove_dead(
        push_shifts(
            stencil(lambda graph, u: graph.shift(graph.map("neg", (graph.shift(u, J, 1),)), I, -2))
        )
    )

    assert remove_dead(push_shifts(program)) == program
