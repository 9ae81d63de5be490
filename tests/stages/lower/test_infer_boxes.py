from __future__ import annotations

import pytest

from fieldforge.stages.ir.dataflow_text import parse
from fieldforge.stages.lower.infer_boxes import infer_boxes

HEAD = """\
program run(u, v, a, out, w, n, m)
dimension I horizontal
dimension K vertical
field u: [I, K] float64
field v: [I, K] float64
field a: [K] float64
field out: [I, K] float64
field w: [I, K] float64
scalar n: int32
scalar m: int32
"""


def inferred(body: str):
    """Return the boxes by row and the reads, as text."""
    lowered = infer_boxes(parse(HEAD + body)[0])
    boxes = [", ".join(map(str, box)) for box in lowered.boxes]
    reads = [
        f"{each.statement} {each.name}[{', '.join(map(str, each.box))}]"
        + " pointwise" * each.pointwise
        for each in lowered.reads
    ]
    return boxes, reads


def test_shifts_both_ways_widen_the_box_on_both_sides():
    boxes, reads = inferred("""\
%0 = input u : [I, K] float64
%1 = shift %0 I+1 : [I, K] float64
%2 = shift %0 I-2 : [I, K] float64
%3 = add %1 %2 : [I, K] float64
statement
  out[I: 0 .. n, K: start(out, K) .. stop(out, K)] = %3
""")

    assert boxes[0] == "I: -2 .. n + 1, K: start(out, K) .. stop(out, K)"
    assert boxes[1] == boxes[2] == boxes[3] == "I: 0 .. n, K: start(out, K) .. stop(out, K)"
    assert reads == ["0 u[I: -2 .. n + 1, K: start(out, K) .. stop(out, K)]"]


def test_a_shift_to_one_side_reads_nothing_on_the_other():
    _, reads = inferred("""\
%0 = input u : [I, K] float64
%1 = shift %0 K+3 : [I, K] float64
statement
  out[I: 0 .. 4, K: 0 .. 5] = %1
""")

    assert reads == ["0 u[I: 0 .. 4, K: 3 .. 8]"]


def test_chained_stencils_on_kept_shifts_add_up():
    boxes, reads = inferred("""\
%0 = input u : [I, K] float64
%1 = shift %0 I+1 : [I, K] float64
%2 = sub %1 %0 : [I, K] float64
%3 = shift %2 I-1 : [I, K] float64
%4 = sub %2 %3 : [I, K] float64
statement
  out[I: 0 .. n, K: 0 .. m] = %4
""")

    assert boxes[2] == "I: -1 .. n, K: 0 .. m"
    assert boxes[0] == "I: -1 .. n + 1, K: 0 .. m"
    assert reads == ["0 u[I: -1 .. n + 1, K: 0 .. m]"]


def test_several_consumers_take_the_hull():
    boxes, reads = inferred("""\
%0 = input u : [I, K] float64
%1 = neg %0 : [I, K] float64
%2 = shift %1 I+1 : [I, K] float64
statement
  out[I: 0 .. n, K: 0 .. 5] = %1
  w[I: 2 .. m, K: 1 .. 3] = %2
""")

    assert boxes[1] == "I: 0 .. max(m + 1, n), K: 0 .. 5"
    assert reads == ["0 u[I: 0 .. max(m + 1, n), K: 0 .. 5]"]


def test_every_statement_reads_for_itself():
    boxes, reads = inferred("""\
%0 = input u : [I, K] float64
%1 = shift %0 I+1 : [I, K] float64
%2 = input out @1 : [I, K] float64
statement
  out[I: 0 .. n, K: 0 .. 5] = %0
statement
  w[I: 0 .. 3, K: 0 .. 5] = %1
statement
  v[I: 1 .. 2, K: 0 .. 1] = %2
""")

    assert boxes[0] == "I: 0 .. max(4, n), K: 0 .. 5"
    assert reads == [
        "0 u[I: 0 .. n, K: 0 .. 5] pointwise",
        "1 u[I: 1 .. 4, K: 0 .. 5]",
        "2 out[I: 1 .. 2, K: 0 .. 1] pointwise",
    ]


def test_a_slice_is_relative_to_the_output():
    _, reads = inferred("""\
%0 = input u : [I, K] float64
%1 = shift %0 I-1 : [I, K] float64
statement
  out[I: start(out, I) + 1 .. stop(out, I) + -1, K: start(out, K) .. stop(out, K)] = %1
""")

    assert reads == ["0 u[I: start(out, I) .. stop(out, I) + -2, K: start(out, K) .. stop(out, K)]"]


def test_bounds_with_extremes_are_translated_inside():
    _, reads = inferred("""\
%0 = input u : [I, K] float64
%1 = shift %0 I+1 : [I, K] float64
%2 = add %0 %1 : [I, K] float64
statement
  out[I: max(3, n) .. min(m, n), K: 0 .. 1] = %2
""")

    assert reads == ["0 u[I: max(3, n) .. min(m + 1, n + 1), K: 0 .. 1]"]


def test_a_field_of_levels_is_needed_on_levels_only():
    boxes, reads = inferred("""\
%0 = input a : [K] float64
%1 = shift %0 K-1 : [K] float64
%2 = input u : [I, K] float64
%3 = mul %1 %2 : [I, K] float64
%4 = shift %3 I+1 : [I, K] float64
statement
  out[I: 0 .. n, K: 1 .. m] = %4
""")

    assert boxes[0] == "K: 0 .. m + -1"
    assert reads == ["0 a[K: 0 .. m + -1]", "0 u[I: 1 .. n + 1, K: 1 .. m]"]


def test_what_no_store_needs_has_an_empty_box_and_a_point_has_none():
    boxes, _ = inferred("""\
%0 = input u : [I, K] float64
%1 = literal 1.0 : float64
%2 = add %0 %1 : [I, K] float64
statement
  out[I: 0 .. n, K: 1 .. m] = %1
""")

    assert boxes == ["I: 0 .. 0, K: 0 .. 0", "", "I: 0 .. 0, K: 0 .. 0"]


@pytest.mark.parametrize(("offset", "pointwise"), [("+1", False), ("-1", False)])
def test_one_shifted_use_among_several_makes_a_read_no_longer_pointwise(offset, pointwise):
    _, reads = inferred(f"""\
%0 = input u : [I, K] float64
%1 = shift %0 I{offset} : [I, K] float64
%2 = add %0 %1 : [I, K] float64
statement
  out[I: 0 .. n, K: 0 .. 5] = %2
""")

    assert reads[0].endswith("pointwise") is pointwise
