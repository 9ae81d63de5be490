"""Sweeps store their arrays in the place of those that they read for the last time, in text."""

import re

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.vertical_advection import I, J, K, advect
from fieldforge.stages.codegen.cpu.passes.in_place import in_place
from fieldforge.stages.codegen.cpu.passes.tiling import tile
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import nests_of

from ...programs import TARGET

KERNEL = """\
kernel back
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  arena @0 float64 [I, K] unit I order [K, I] box (I: 0 .. n, K: -1 .. m)
  arena @1 float64 [I, K] unit I order [K, I] box (I: 0 .. n, K: 0 .. m + 1)
  group 0 (I: 0 .. n, K: 0 .. m)
  step 0
    nest n0 group 0  # fills @0
      sequential K: -1 .. m
        vector I: 0 .. n
          %0 float64 load u[0, 0]
          %1 float64 store @0 %0
    nest n1 group 0  # sets the states of a scan
      sequential K: m .. m + 1
        vector I: 0 .. n
          %0 float64 constant 0.0
          %1 float64 store @1 %0
    nest n2 group 0  # walks a scan, stores @1
      sequential K: 0 .. m backward
        vector I: 0 .. n
          %0 float64 load @0[0, 0]
          %1 float64 load @0[0, -1]
          %2 float64 load @1[0, 1]
          %3 float64 add %0 %1
          %4 float64 add %3 %2
          %5 float64 store @1 %4
    nest n3 group 0  # stores out
      sequential K: 0 .. m
        vector I: 0 .. n
          %0 float64 load @1[0, 0]
          %1 float64 store out %0
"""


def over(text):
    """Return which array lies over which one, and the boxes of arrays."""
    kernel = read(text)
    arrays = in_place([each for each in kernel.buffers if each.memory == "arena"], nests_of(kernel))
    boxes = {each.name: ", ".join(map(str, each.box)) for each in arrays}
    return {each.name: each.over for each in arrays if each.over}, boxes


def test_what_a_sweep_stores_lies_over_what_it_reads_for_the_last_time():
    found, boxes = over(KERNEL)

    assert found == {"@1": "@0"}
    assert boxes["@0"] == boxes["@1"] == "I: 0 .. n, K: -1 .. m + 1"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load @0[0, -1]", "load @0[0, 1]"),
        ("load @0[0, -1]", "load @0[1, 0]"),
        ("load @1[0, 1]", "load u[0, 0]"),
        ("load @1[0, 0]", "load @0[0, 0]"),
        ("K: m .. m + 1\n", "K: 0 .. m + 1\n"),
        ("@1 float64", "@1 float32"),
    ],
    ids=[
        "a level that the sweep has been at",
        "a neighbour in the row",
        "no states: the last strip of a row is computed twice",
        "a later nest reads it",
        "what sets the states meets what is read",
        "another type",
    ],
)
def test_arrays_lie_apart_where_a_sweep_would_read_what_it_has_stored(old, new):
    assert old in KERNEL
    found, boxes = over(KERNEL.replace(old, new))

    assert found == {}
    assert boxes["@0"] == "I: 0 .. n, K: -1 .. m"


def in_rows(text):
    """Return a kernel with a second dimension, of a few rows that are known when it is built."""
    text = text.replace("  dimension K", "  dimension J horizontal\n  dimension K")
    for old, new in (
        ("[I, K]", "[I, J, K]"),
        ("[K, I]", "[K, J, I]"),
        (", K: ", ", J: 5 .. 9, K: "),
    ):
        text = text.replace(old, new)
    text = re.sub(r"\[(-?\d), (-?\d)\]", r"[\1, 0, \2]", text)
    text = re.sub(
        r"( +)(sequential K.*\n) +(vector)", r"\1parallel J: 5 .. 9\n\1  \2\1    \3", text
    )
    return re.sub(r"(?m)^ +%", "            %", text)


@pytest.mark.parametrize(("states", "found"), [("m .. m + 1", 1), ("0 .. m + 1", 0)])
def test_rows_of_a_tile_are_not_taken_for_levels(states, found):
    text = in_rows(KERNEL.replace("K: m .. m + 1\n", f"K: {states}\n"))

    assert show(tile(read(text), Rules(TARGET))).count(" over @0") == found


def adjoints(backend, columns, levels):
    """Return the adjoints of the vertical advection, by a backend."""
    rng = np.random.default_rng(3)
    names = ("u", "u_before", "w", "tendency")

    def field(name):
        shape = (columns + (name == "w"), 2, levels + (name == "w"))
        return ff.as_field([I, J, K], rng.uniform(0.5, 1.0, shape), allocator=ff.cpu)

    given = {name: field(name) for name in names} | {"new_tendency_b": field("u")}
    found = {f"{name}_b": field(name) for name in names}
    program = ff.adjoint(advect.with_backend(backend), wrt=names)
    program(**given, **found, per_step=0.5, last=np.int32(levels - 1))
    return [each.asnumpy() for each in found.values()]


@pytest.mark.needs_compiler
@pytest.mark.parametrize(("columns", "levels"), [(5, 4), (19, 1), (64, 7)])
def test_an_adjoint_solver_in_place_has_the_bits_of_python(columns, levels):
    listing = ff.adjoint(advect.with_backend(ff.cpu)).trace(until="codegen")["codegen"].loops

    assert " over @" in listing
    for mine, other in zip(
        adjoints(ff.cpu, columns, levels), adjoints(None, columns, levels), strict=True
    ):
        np.testing.assert_array_equal(mine, other)
