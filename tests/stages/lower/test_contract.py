"""Products and sums become fused multiply-adds: printed IR in, printed IR out."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.runtime.language.operations import apply
from fieldforge.stages.ir.dataflow_text import parse, show
from fieldforge.stages.lower.contract import contract
from fieldforge.stages.lower.graph import Graph

from ..codegen.programs import REAL, I, make_program, whole


def rows(op: str, first: bool, shared: bool = False) -> list[str]:
    graph = Graph()
    a, b, c = (graph.input(name, (I,), REAL) for name in "abc")
    product = graph.map("mul", (a, b))
    value = graph.map(op, (product, c) if first else (c, product))
    if shared:
        value = graph.map("maximum", (value, product))
    fields = [(name, REAL, (I,)) for name in ("a", "b", "c", "out")]
    lowered = make_program("p", graph, fields, [("out", whole("out", (I,)), value)])
    text = type(lowered)(contract(lowered.program)).text
    return [
        line.split("%", 1)[1]
        for line in text.splitlines()
        if " = fma " in line or " = neg " in line
    ]


def test_a_product_and_a_sum_are_rounded_once():
    assert rows("add", first=True) == ["3 = fma %0 %1 %2 : [I] float64"]
    assert rows("add", first=False) == ["3 = fma %0 %1 %2 : [I] float64"]


def test_what_is_subtracted_changes_its_sign_first():
    assert rows("sub", first=True) == ["3 = neg %2 : [I] float64", "4 = fma %0 %1 %3 : [I] float64"]
    assert rows("sub", first=False) == [
        "3 = neg %0 : [I] float64",
        "4 = fma %3 %1 %2 : [I] float64",
    ]


def test_a_product_that_is_used_again_is_kept():
    assert rows("add", first=True, shared=True) == []


def test_a_fused_multiply_add_is_rounded_once():
    a, b, c = np.float64(1 + 2**-30), np.float64(1 - 2**-30), np.float64(-1.0)
    assert apply("fma", a, b, c) == -(2.0**-60)
    single = [np.float32(each) for each in (1 + 2**-13, 1 - 2**-13, -1.0)]
    assert apply("fma", *single) == np.float32(-(2.0**-26))


@ff.field_operator
def blend(a: Field[Dims[I], float64], b: Field[Dims[I], float64]) -> Field[Dims[I], float64]:
    return a * b + (a - b * b)


@pytest.mark.needs_compiler
def test_interpreted_and_compiled_programs_fuse_alike():
    a, b = (np.random.default_rng(seed).random(500) for seed in (1, 2))
    results = {}
    for name in ("reference", "cpu"):
        out = ff.zeros({I: 500})
        blend.with_backend(getattr(ff, name))(ff.as_field((I,), a), ff.as_field((I,), b), out=out)
        results[name] = out.asnumpy()

    np.testing.assert_array_equal(results["cpu"], results["reference"])
    assert (results["cpu"] != a * b + (a - b * b)).any()


def test_a_value_at_several_places_is_contracted_at_all_or_at_none():
    # half of w is used by both sums, at other places; at the rim only one of them needs it
    graph = Graph()
    w, half = graph.input("w", (I,), REAL), graph.literal(REAL, "0.5")
    halves = [graph.map("mul", (half, graph.shift(w, I, at))) for at in range(3)]
    sums = [graph.map("add", (halves[at + 1], halves[at])) for at in range(2)]
    difference = graph.map("sub", tuple(sums))
    fields = [(name, REAL, (I,)) for name in ("w", "out")]
    lowered = make_program("p", graph, fields, [("out", whole("out", (I,)), difference)])
    assert " = fma " not in type(lowered)(contract(lowered.program)).text


COLUMN = """\
program run(u)
dimension I horizontal
dimension K vertical
field u: [I, K] float64
%0 = input u : [I, K] float64
%1 = column K forward 0 .. 4 in [K: 0 .. 5] init %0 args : [I, K] float64
  %0 = get 0+0 : float64
  %1 = mul %0 %0 : float64
  %2 = while : bool
  %3 = get 0+0 : float64
  %4 = mul %3 %0 : float64
  %5 = add %4 %1 : float64
  %6 = gt %5 %3 : bool
  %7 = holds %6 : bool
  %8 = mul %3 %3 : float64
  %9 = sub %1 %8 : float64
  %10 = add %9 %1 : float64
  %11 = set 0+0 %10 : float64
  %12 = get 0+0 : float64
  %13 = end : bool
  next
%2 = result %1 0 : [I, K] float64
statement
  u[I: 0 .. 3, K: 0 .. 5] = %2
"""


def test_columns_contract_what_no_block_parts():
    # %1 is outside of the loop that adds it, and used twice
    found = show(contract(parse(COLUMN)[0]))
    assert (
        found.split("args", 1)[1]
        == """\
 : [I, K] float64
  %0 = get 0+0 : float64
  %1 = mul %0 %0 : float64
  %2 = while : bool
  %3 = get 0+0 : float64
  %4 = fma %3 %0 %1 : float64
  %5 = gt %4 %3 : bool
  %6 = holds %5 : bool
  %7 = neg %3 : float64
  %8 = fma %7 %3 %1 : float64
  %9 = add %8 %1 : float64
  %10 = set 0+0 %9 : float64
  %11 = get 0+0 : float64
  %12 = end : bool
  next
%2 = result %1 0 : [I, K] float64
statement
  u[I: 0 .. 3, K: 0 .. 5] = %2
"""
    )
