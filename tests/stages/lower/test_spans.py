from fieldforge.stages.ir.dataflow_text import parse
from fieldforge.stages.lower.boxes.spans import Spans

from .trees import I, K

HEAD = """\
program run(u, v, a, n, out)
dimension I horizontal
dimension K vertical
field u: [I, K] float64
field v: [I, K] float64
field a: [I] float64
scalar n: int32
field out: [I, K] float64
%0 = input u : [I, K] float64
%1 = input v : [I, K] float64
%2 = input a : [I] float64
%3 = literal 0.0 : float64
"""


def span(rows: str, dim=K) -> list[str]:
    program = parse(HEAD + rows)[0]
    tables = {table.name: table for table in program.tables}
    leaves = {leaf.name: leaf for leaf in program.leaves}
    found = Spans(program.values, tables, leaves).of(len(program.values) - 1, dim)
    return [str(bound) for bound in found]


def test_a_shift_moves_the_range_back():
    assert span("%4 = shift %0 K+2 : [I, K] float64\n")[0] == "start(u, K) + -2"


def test_a_scan_has_the_levels_that_it_walks():
    rows = """\
%4 = scan K forward 2 .. n init %3 args %0 : [I, K] float64
  %0 = scalar s0 : float64
  %1 = scalar a0 : float64
  %2 = add %0 %1 : float64
  next %2
%5 = result %4 0 : [I, K] float64
"""
    assert span(rows) == ["2", "max(3, n)"]
    assert span(rows, I)[0] == "start(u, I)"


def test_a_region_has_what_each_branch_has_on_its_part():
    rows = "%4 = region [K: .. n] %0 %1 : [I, K] float64\n"

    assert span(rows)[0] == "min(max(n, start(v, K)), start(u, K))"


def test_constants_have_a_range_around_the_edges_of_regions():
    rows = "%4 = literal 1.0 : float64\n%5 = region [K: .. n] %3 %4 : [K] float64\n"
    assert span(rows) == ["n + -1", "n + 1"]


def test_a_long_chain_needs_no_recursion():
    rows = "%4 = neg %0 : [I, K] float64\n" + "".join(
        f"%{row} = add %{row - 1} %1 : [I, K] float64\n" for row in range(5, 3000)
    )

    assert span(rows)[0] == "max(start(u, K), start(v, K))"
