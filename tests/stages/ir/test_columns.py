"""Imperative columns: their text, their rules, and what they compute."""

import re

import numpy as np
import pytest

from fieldforge.runtime.fields.field import make
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.process.errors import WorkflowError
from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.interpret.evaluation import interpret
from fieldforge.stages.ir.dataflow_text import parse, show
from fieldforge.stages.ir.verify import verify
from fieldforge.stages.lower.boxes.infer_boxes import infer_boxes

I, K = Dimension("I"), Dimension("K", "vertical")

HEAD = """\
program run(u, out, last)
dimension I horizontal
dimension K vertical
field u: [I, K] float64
field out: [I, K] float64
field last: [I] float64
%0 = input u : [I, K] float64
%1 = literal 0.0 : float64
%2 = index K : [K] int64
%3 = column K forward 0 .. 4 in [K: 0 .. 5, K: 0 .. 5] init %0 %1 args %0 %2 planes 1 \
: [I, K] float64
"""
BODY = """\
  %0 = scalar a0 : float64
  %1 = get 1+0 : float64
  %2 = add %0 %1 : float64
  %3 = set 1+0 %2 : float64
  %4 = set 0+1 %2 : float64
  %5 = literal 2.0 : float64
  %6 = gt %2 %5 : bool
  %7 = if %6 : bool
  %8 = set 0+0 %5 : float64
  %9 = else : bool
  %10 = while : bool
  %11 = get 1+0 : float64
  %12 = gt %5 %11 : bool
  %13 = holds %12 : bool
  %14 = add %11 %5 : float64
  %15 = set 1+0 %14 : float64
  %16 = end : bool
  %17 = end : bool
  %18 = scalar a1 : int64
  %19 = get_at 0 %18 : float64
  %20 = set_at 0 %18 %19 : float64
  next
"""
TAIL = """\
%4 = result %3 0 : [I, K] float64
%5 = result %3 1 : [I] float64
statement
  out[I: 0 .. 3, K: 0 .. 5] = %4
  last[I: 0 .. 3] = %5
"""
GOOD = HEAD + BODY + TAIL


def changed(old: str, new: str) -> str:
    before, found, after = GOOD.rpartition(old)
    assert found
    return f"{before}{new}{after}"


def test_a_listing_reads_back():
    program, boxes, reads = parse(GOOD)

    assert [line.split() for line in show(program, boxes, reads).splitlines()] == [
        line.split() for line in GOOD.splitlines()
    ]
    verify(infer_boxes(program))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("%16 = end", "%16 = else", "row %16 ends no block"),
        ("%17 = end", "%17 = while", "row %17 has no end"),
        ("%13 = holds %12", "%13 = if %12", "row %17 ends a loop without a condition"),
        ("%13 = holds %12", "%13 = holds %2", "tests a 'float64', expected 'bool'"),
        ("%20 = set_at 0 %18 %19", "%20 = set_at 0 %18 %14", "uses a row that is not defined"),
        ("%19 = get_at 0 %18", "%19 = get_at 0 %2", "takes its level from a 'float64'"),
        ("%1 = get 1+0", "%1 = get 1-1", "takes a plane at another level"),
        ("%1 = get 1+0", "%1 = get 2+0", "names variable 2, of 2"),
        ("%15 = set 1+0 %14", "%15 = set 1+0 %12", "sets a variable of another dtype"),
        (", K: 0 .. 5] init", "] init", "not one range along its axis for each variable"),
        ("planes 1", "planes 2", "has a plane that is no variable"),
        (" planes 1", "", "dimensions or a dtype other than those of the scan"),
        ("%0 = scalar a0", "%0 = scalar a2", "reads 'a2', which is not a scalar leaf"),
    ],
)
def test_rules(old, new, complaint):
    lowered = Lowered(*parse(changed(old, new)))

    with pytest.raises(WorkflowError, match=re.escape(complaint)):
        verify(lowered)


def by_hand(u):
    """Return the variables as a walk leaves them."""
    v, planes = u.copy(), np.zeros(len(u))
    for i in range(len(u)):
        for k in range(4):
            total = u[i, k] + planes[i]
            planes[i] = v[i, k + 1] = total
            if total > 2.0:
                v[i, k] = 2.0
            else:
                while planes[i] < 2.0:
                    planes[i] += 2.0
    return v, planes


def test_the_interpreter_acts_column_by_column():
    u = np.random.default_rng(0).uniform(-1, 2, (3, 5))
    out, last = np.zeros((3, 5)), np.zeros(3)
    levels = domain({I: (0, 3), K: (0, 5)})
    arguments = {
        "u": make(u, levels), "out": make(out, levels), "last": make(last, domain({I: (0, 3)}))
    }  # fmt: skip

    interpret(infer_boxes(parse(GOOD)[0]), arguments)

    meant, planes = by_hand(u)
    np.testing.assert_array_equal(out, meant)
    np.testing.assert_array_equal(last, planes)


def test_what_lies_outside_is_read_at_the_edge_and_not_written():
    body = """\
  %0 = scalar a1 : int64
  %1 = literal 3 : int64
  %2 = add %0 %1 : int64
  %3 = get_at 0 %2 : float64
  %4 = set 1+0 %3 : float64
  %5 = literal 9.0 : float64
  %6 = set_at 0 %2 %5 : float64
  next
"""
    text = HEAD + body + TAIL
    u, out, last = np.arange(15.0).reshape(3, 5), np.zeros((3, 5)), np.zeros(3)
    levels = domain({I: (0, 3), K: (0, 5)})
    arguments = {
        "u": make(u, levels), "out": make(out, levels), "last": make(last, domain({I: (0, 3)}))
    }  # fmt: skip

    interpret(infer_boxes(parse(text)[0]), arguments)

    np.testing.assert_array_equal(last, [9.0] * 3)  # on level 4 it was set, 5 and 6 are not there
    np.testing.assert_array_equal(out[:, :3], u[:, :3])
    np.testing.assert_array_equal(out[:, 3:], 9.0)
