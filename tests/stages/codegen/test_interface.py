"""What a call checks and computes, folded over the tree of a kernel."""

import attrs
import pytest

from fieldforge.runtime.process.device import DeviceType
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen.cpu.options import CpuOptions
from fieldforge.stages.codegen.interface import describe, integers, turns
from fieldforge.stages.codegen.passes import make_loops
from fieldforge.stages.ir.bounds import Const, ScalarSymbol
from fieldforge.stages.ir.loops.column import Column
from fieldforge.stages.ir.loops.gpu import Columns
from fieldforge.stages.ir.loops.kernel import Choice, Kernel, Step, in_order
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of
from fieldforge.stages.lower.graph import Graph

from .programs import REAL, TARGET, I, make_program, whole

SCANS = """\
kernel scans
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  arena @0 float64 [I, K] unit I order [K, I] box (I: 0 .. n, K: 0 .. 40)
  group 0 (I: 0 .. n, K: 0 .. 40)
  step 0
    nest n0 group 0  # fills @0
      reads u (I: 0 .. n, K: 0 .. 40)
      thread I: 0 .. n
        sequential K: 0 .. 40
          %0 float64 load u[0, 0]
          %1 float64 store @0 %0
    nest n1 group 0  # stores out
      reads u (I: 1 .. n+1, K: 0 .. 40)
      thread I: 0 .. n
        sequential K: 0 .. 40
          %0 float64 load u[1, 0]
          %1 float64 load @0[0, 0]
          %2 float64 add %0 %1
          %3 float64 store out %2
"""
WHEN = ScalarSymbol("when")


@pytest.fixture(scope="module")
def scans() -> Kernel:
    return read(SCANS)


def with_body(kernel, node):
    return attrs.evolve(kernel, steps=(Step(0, node),))


def lengths(kernel, name=""):
    return [len(turn) for turn in turns(kernel, name)]


def test_nests_take_turns(scans):
    first, second = nests_of(scans)

    assert [member.nest for turn in turns(scans) for member in turn] == [first, second]
    assert lengths(scans) == [1, 1]


def test_scans_of_one_kernel_take_one_turn_where_one_reads_other_columns(scans):
    nests = nests_of(scans)
    columns = Columns(("@0",), 32, Const(10240), 20480, nests)
    joint = with_body(scans, Choice(WHEN, columns, in_order(*nests)))

    assert lengths(joint, "u") == [2]
    assert lengths(joint, "out") == [1, 1]


def test_a_nest_in_place_of_others_takes_a_turn_of_its_own(scans):
    first, second = nests_of(scans)
    fused = attrs.evolve(second, reason="does both")
    chosen = with_body(scans, Choice(WHEN, fused, in_order(first, second)))

    assert [turn[0].nest for turn in turns(chosen)] == [first, second, fused]


def test_a_call_passes_what_columns_need(scans):
    nests, needed = nests_of(scans), ScalarSymbol("needed")
    columns = Columns(("@0",), 32, needed, 20480, nests)

    assert needed not in integers(scans)
    assert integers(with_body(scans, Choice(WHEN, columns, in_order(*nests)))) == (
        *integers(scans),
        needed,
    )


def test_a_column_reads_the_boxes_of_its_rows_and_nothing_in_place():
    graph = Graph()
    u = graph.input("u", (I,), REAL)
    fields = [("u", REAL, (I,)), ("out", REAL, (I,))]
    doubled = graph.map("add", (u, u))
    lowered = make_program("twice", graph, fields, [("out", whole("out", (I,)), doubled)])
    kernel, groups = make_loops(lowered, Variant(), CpuOptions(TARGET).rules(), ())
    (nest,) = nests_of(kernel)
    column = with_body(kernel, Column(0, nest.loops, nest.body, "", (), nest.reads))

    (expected,), (found,) = (
        describe(lowered.program, each, groups, "cpu", DeviceType.CPU).reads
        for each in (kernel, column)
    )
    assert expected.box == nest.box
    assert expected.pointwise
    assert found == attrs.evolve(expected, pointwise=False)
