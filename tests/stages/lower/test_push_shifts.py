import pytest

from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.ir.dataflow import (
    Dataflow,
    Input,
    Leaf,
    Map,
    Neighbours,
    Shift,
    Statement,
    Store,
)
from fieldforge.stages.ir.dataflow_text import parse
from fieldforge.stages.ir.verify import verify
from fieldforge.stages.lower.domains import whole
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.lower.push_shifts import SPREAD, push_checked_shifts, push_shifts
from fieldforge.stages.lower.rewrite import remove_dead

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


def pushed(rows: str) -> str:
    root = rows.strip().rpartition("\n")[2].partition(" ")[0]
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


PUSHED = {
    "a shift of a sum is the sum of shifts and skips what does not vary": """\
%0 = input u : [I, J] float64
%1 = input a : [J] float64
%2 = literal 2.0 : float64
%3 = mul %1 %2 : [J] float64
%4 = add %0 %3 : [I, J] float64
%5 = shift %4 I+1 : [I, J] float64
->
%0 = input u : [I, J] float64
%1 = shift %0 I+1 : [I, J] float64
%2 = input a : [J] float64
%3 = literal 2.0 : float64
%4 = mul %2 %3 : [J] float64
%5 = add %1 %4 : [I, J] float64
""",
    "shifts of shifts add up in the order of the dimensions": """\
%0 = input u : [I, J] float64
%1 = shift %0 J-1 : [I, J] float64
%2 = neg %1 : [I, J] float64
%3 = shift %2 I+2 : [I, J] float64
%4 = neg %3 : [I, J] float64
%5 = shift %4 J+3 : [I, J] float64
->
%0 = input u : [I, J] float64
%1 = shift %0 I+2 : [I, J] float64
%2 = shift %1 J+2 : [I, J] float64
%3 = neg %2 : [I, J] float64
%4 = neg %3 : [I, J] float64
""",
    "the same net offset is one row and none is no shift": """\
%0 = input u : [I, J] float64
%1 = neg %0 : [I, J] float64
%2 = shift %1 I+1 : [I, J] float64
%3 = shift %2 I-1 : [I, J] float64
%4 = add %3 %1 : [I, J] float64
->
%0 = input u : [I, J] float64
%1 = neg %0 : [I, J] float64
%2 = add %1 %1 : [I, J] float64
""",
}


@pytest.mark.parametrize("text", PUSHED.values(), ids=PUSHED)
def test_shifts_go_to_the_inputs(text):
    before, after = text.split("->\n")
    assert pushed(before) == after


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


MESH = """\
program run(u, e, by, w, out)
dimension Cell horizontal
dimension Edge horizontal
dimension C2E local
dimension E2C local
dimension K vertical
field u: [Cell, K] float64
field e: [Edge, K] float64
field by: [Cell, K] int32
field w: [Edge, E2C] float64
field out: [Edge, K] float64
table C2E: [Cell, C2E] -> Edge width 3 skip
table E2C: [Edge, E2C] -> Cell width 2
"""


def pushed_on_mesh(rows: str, push=push_shifts) -> str:
    last = rows.strip().rpartition("\n")[2].partition(" ")[0]
    store = f"statement\n  out[Edge: 0 .. 4, K: 0 .. 5] = {last}\n"
    shown = Lowered(verified(remove_dead(push(parse(MESH + rows + store)[0])))).text
    assert shown.startswith(MESH)
    return shown.removeprefix(MESH).partition("statement")[0]


def verified(program: Dataflow) -> Dataflow:
    return verify(Lowered(program)).program


ON_MESH = {
    "neighbours of a sum are the sum of neighbours": """\
%0 = input u : [Cell, K] float64
%1 = literal 2.0 : float64
%2 = mul %0 %1 : [Cell, K] float64
%3 = neighbours %2 E2C : [Edge, E2C, K] float64
%4 = sum %3 over E2C : [Edge, K] float64
->
%0 = input u : [Cell, K] float64
%1 = neighbours %0 E2C : [Edge, E2C, K] float64
%2 = literal 2.0 : float64
%3 = mul %1 %2 : [Edge, E2C, K] float64
%4 = sum %3 over E2C : [Edge, K] float64
""",
    "a slot of all neighbours is one neighbour": """\
%0 = input u : [Cell, K] float64
%1 = neighbours %0 E2C : [Edge, E2C, K] float64
%2 = input w : [Edge, E2C] float64
%3 = mul %2 %1 : [Edge, E2C, K] float64
%4 = local %3 E2C[1] : [Edge, K] float64
->
%0 = input u : [Cell, K] float64
%1 = gather %0 E2C[1] : [Edge, K] float64
%2 = input w : [Edge, E2C] float64
%3 = local %2 E2C[1] : [Edge] float64
%4 = mul %3 %1 : [Edge, K] float64
""",
    "a shift along levels goes through neighbours and reductions": """\
%0 = input e : [Edge, K] float64
%1 = neighbours %0 C2E : [Cell, C2E, K] float64
%2 = sum %1 over C2E : [Cell, K] float64
%3 = gather %2 E2C[0] : [Edge, K] float64
%4 = shift %3 K+1 : [Edge, K] float64
->
%0 = input e : [Edge, K] float64
%1 = shift %0 K+1 : [Edge, K] float64
%2 = neighbours %1 C2E : [Cell, C2E, K] float64
%3 = sum %2 over C2E : [Cell, K] float64
%4 = gather %3 E2C[0] : [Edge, K] float64
""",
    "a displacement goes to the inputs and its own value along": """\
%0 = input u : [Cell, K] float64
%1 = neg %0 : [Cell, K] float64
%2 = input by : [Cell, K] int32
%3 = displace %1 K %2 : [Cell, K] float64
%4 = gather %3 E2C[1] : [Edge, K] float64
%5 = shift %4 K+1 : [Edge, K] float64
->
%0 = input by : [Cell, K] int32
%1 = shift %0 K+1 : [Cell, K] int32
%2 = gather %1 E2C[1] : [Edge, K] int32
%3 = input u : [Cell, K] float64
%4 = shift %3 K+1 : [Cell, K] float64
%5 = gather %4 E2C[1] : [Edge, K] float64
%6 = displace %5 K %2 : [Edge, K] float64
%7 = neg %6 : [Edge, K] float64
""",
    "a level goes to the inputs and shifts along other dimensions pass it": """\
%0 = input e : [Edge, K] float64
%1 = neg %0 : [Edge, K] float64
%2 = shift %1 K+1 : [Edge, K] float64
%3 = level %2 K at 4 : [Edge] float64
->
%0 = input e : [Edge, K] float64
%1 = shift %0 K+1 : [Edge, K] float64
%2 = level %1 K at 4 : [Edge] float64
%3 = neg %2 : [Edge] float64
""",
}


@pytest.mark.parametrize("text", ON_MESH.values(), ids=ON_MESH)
def test_shifts_and_neighbours_go_to_the_inputs_on_a_mesh(text):
    before, after = text.split("->\n")
    assert pushed_on_mesh(before) == after


STAYS = {
    "a neighbour of a region along its dimension stays": """\
%0 = input u : [Cell, K] float64
%1 = literal 0.0 : float64
%2 = region [Cell: 1 .. 3] %0 %1 : [Cell, K] float64
%3 = gather %2 E2C[0] : [Edge, K] float64
""",
    "what is done to the results of a scan stays": """\
%0 = input e : [Edge, K] float64
%1 = literal 0.0 : float64
%2 = scan K forward 0 .. 5 init %1 args %0 : [Edge, K] float64
  %0 = scalar s0 : float64
  %1 = scalar a0 : float64
  %2 = add %0 %1 : float64
  next %2
%3 = result %2 0 : [Edge, K] float64
%4 = shift %3 K-1 : [Edge, K] float64
""",
    "a level of a region along its dimension stays": """\
%0 = input e : [Edge, K] float64
%1 = literal 0.0 : float64
%2 = region [K: 1 .. 3] %0 %1 : [Edge, K] float64
%3 = level %2 K at 2 : [Edge] float64
""",
}


@pytest.mark.parametrize("rows", STAYS.values(), ids=STAYS)
def test_what_cannot_be_pushed_stays(rows):
    assert pushed_on_mesh(rows) == rows


def test_neighbours_in_a_checked_program_stay_outside_of_what_may_hide_that_one_is_missing():
    rows = """\
%0 = input e : [Edge, K] float64
%1 = literal 0.0 : float64
%2 = gt %0 %1 : [Edge, K] bool
%3 = select %2 %0 %1 : [Edge, K] float64
%4 = mul %3 %3 : [Edge, K] float64
%5 = gather %4 C2E[1] : [Cell, K] float64
%6 = gather %5 E2C[0] : [Edge, K] float64
"""
    assert (
        pushed_on_mesh(rows, push_checked_shifts)
        == """\
%0 = input e : [Edge, K] float64
%1 = literal 0.0 : float64
%2 = gt %0 %1 : [Edge, K] bool
%3 = select %2 %0 %1 : [Edge, K] float64
%4 = gather %3 C2E[1] : [Cell, K] float64
%5 = gather %4 E2C[0] : [Edge, K] float64
%6 = mul %5 %5 : [Edge, K] float64
"""
    )


def test_a_shift_moves_the_boxes_of_a_region():
    rows = """\
%0 = input e : [Edge, K] float64
%1 = literal 0.0 : float64
%2 = region [Edge: 1 .. 3, K: .. 4] %0 %1 : [Edge, K] float64
%3 = shift %2 K-1 : [Edge, K] float64
"""
    assert "region [Edge: 1 .. 3, K: .. 5]" in pushed_on_mesh(rows)


def test_a_value_at_many_neighbours_keeps_them_if_it_is_expensive():
    rows = """\
%0 = input u : [Cell, K] float64
%1 = exp %0 : [Cell, K] float64
%2 = gather %1 E2C[0] : [Edge, K] float64
%3 = gather %1 E2C[1] : [Edge, K] float64
%4 = shift %1 K+1 : [Cell, K] float64
%5 = gather %4 E2C[0] : [Edge, K] float64
%6 = gather %4 E2C[1] : [Edge, K] float64
%7 = shift %4 K+1 : [Cell, K] float64
%8 = gather %7 E2C[0] : [Edge, K] float64
%9 = add %2 %3 : [Edge, K] float64
%10 = add %5 %6 : [Edge, K] float64
%11 = add %9 %10 : [Edge, K] float64
%12 = add %11 %8 : [Edge, K] float64
"""
    assert pushed_on_mesh(rows).count("exp") == 1
    assert pushed_on_mesh(rows.replace("exp", "neg")).count("neg") == 5


def test_a_value_of_one_dimension_keeps_its_neighbours():
    rows = """\
%0 = literal 2.0 : float64
%1 = input h : [Cell] float64
%2 = gather %1 E2C[0] : [Edge] float64
%3 = mul %0 %2 : [Edge] float64
%4 = neighbours %3 C2E : [Cell, C2E] float64
%5 = sum %4 over C2E : [Cell] float64
"""
    head = "program run(h, new)\ndimension Cell horizontal\ndimension Edge horizontal\n"
    head += "dimension C2E local\ndimension E2C local\nfield h: [Cell] float64\n"
    head += "field new: [Cell] float64\ntable C2E: [Cell, C2E] -> Edge width 3\n"
    head += "table E2C: [Edge, E2C] -> Cell width 2\n"

    pushed = push_shifts(parse(f"{head}{rows}statement\n  new[Cell: 0 .. 4] = %5\n")[0])

    kept = [each for each in pushed.values if isinstance(each, Neighbours)]
    assert [type(pushed.values[each.arg]) for each in kept] == [Map]
