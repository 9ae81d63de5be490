"""Tiles of nests that store in boxes of their own and share what they need."""

from __future__ import annotations

import re

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.stages.codegen.cpu.passes.tiling import tile
from fieldforge.stages.codegen.schedule.rules import Rules
from fieldforge.stages.ir.bounds import evaluate
from fieldforge.stages.ir.loops.cpu import Tiles
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nodes_of
from fieldforge.stages.target import Target

from ...programs import TARGET
from ...texts import after

SMALL = Rules(attrs.evolve(TARGET, l2=8192))
HEAD = """\
kernel shares
  dimension I horizontal
  dimension J horizontal
  field u float64 [I, J] unit I
  field one float64 [I, J] unit I
  field other float64 [I, J] unit I
"""
ARENA = "  arena @0 float64 [I, J] unit I order [J, I] box (I: 0 .. n, J: -1 .. n)\n"
GROUPS = """\
  group 0 ()
  group 0 (I: 0 .. n, J: 0 .. n)
  group 0 (I: 0 .. n, J: m .. k)
  step 0
"""
NESTS = """\
    nest n0 group 0  # fills @0
      parallel J: -1 .. n
        vector I: 0 .. n
          %0 float64 load u[0, 0]
          %1 float64 store @0 %0
    nest n1 group 1  # stores one
      parallel J: 0 .. n
        vector I: 0 .. n
          %0 float64 load @0[0, -1]
          %1 float64 store one %0
    nest n2 group 2  # stores other
      parallel J: m .. k
        vector I: 0 .. n
          %0 float64 load @0[0, 0]
          %1 float64 store other %0
"""


def test_nests_of_groups_that_share_an_array_become_tiles_of_the_hull() -> None:
    made = after(tile, HEAD + ARENA + GROUPS + NESTS, SMALL)

    (tiles,) = nodes_of(read(made), Tiles)
    assert [member.nest.group for member in tiles.members] == [0, 1, 2]
    assert [member.margins for member in tiles.members] == [((1, 0),), ((0, 0),), ((0, 0),)]
    assert "  tile @0 float64 [I, J] unit I ring J order [J, I] box (I: 0 .. n, J: 0 .. 2)" in made


@pytest.mark.parametrize(
    ("ends", "hull"),
    [((-3, 2), (-3, 9)), ((4, 12), (0, 12)), ((-30, -33), (0, 9)), ((44, 44), (0, 9))],
)
def test_an_empty_group_adds_nothing_to_what_is_cut(
    ends: tuple[int, int], hull: tuple[int, int]
) -> None:
    (tiles,) = nodes_of(read(after(tile, HEAD + ARENA + GROUPS + NESTS, SMALL)), Tiles)
    numbers = dict(zip(("m", "k"), ends, strict=True), n=9)

    (cut,) = tiles.cuts

    made = (
        evaluate(end, lambda each: numbers[str(each)]) for end in (cut.range.start, cut.range.stop)
    )
    assert tuple(made) == hull


def test_nests_of_groups_that_share_no_array_stay_apart() -> None:
    apart = NESTS.replace("load @0[0, 0]", "load u[0, 0]").replace("group 0  #", "group 1  #")

    (tiles,) = nodes_of(read(after(tile, HEAD + ARENA + GROUPS + apart, SMALL)), Tiles)

    assert [member.nest.group for member in tiles.members] == [1, 1]


def test_nests_of_groups_with_other_loops_stay_as_they_are() -> None:
    other = HEAD + ARENA + GROUPS + NESTS.replace("parallel J: m", "sequential J: m")

    assert after(tile, other, SMALL) == other


def test_a_nest_of_several_rows_at_a_time_is_in_no_tile() -> None:
    jammed = (
        HEAD + ARENA + GROUPS + NESTS.replace("parallel J: 0 .. n", "parallel J: 0 .. n step 4")
    )

    assert after(tile, jammed, SMALL) == jammed


# --- calls --------------------------------------------------------------------------------------

I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = Field[Dims[I, J], float64]


@ff.field_operator
def turned(u: Plane, w: Plane) -> tuple[Plane, Plane, Plane]:
    q = (u - u(I - 1) + w(J - 1) / (u + 4.0)) / (u + u(I - 1) + u(J - 1) + w + w(I - 1)(J - 1))
    return q * w + q(J + 1), w + w(J - 1), q(I + 1) * q - u


@ff.program
def stored(
    u: Plane, w: Plane, one: Plane, two: Plane, three: Plane,
    a0: ff.int32, a1: ff.int32, a2: ff.int32, a3: ff.int32,
    b0: ff.int32, b1: ff.int32, b2: ff.int32, b3: ff.int32,
    c0: ff.int32, c1: ff.int32, c2: ff.int32, c3: ff.int32,
):  # fmt: skip
    turned(
        u, w, out=(one, two, three),
        domain=(
            {I: (a0, a1), J: (a2, a3)}, {I: (b0, b1), J: (b2, b3)}, {I: (c0, c1), J: (c2, c3)}
        ),
    )  # fmt: skip


@ff.field_operator
def halves(u: Plane, w: Plane) -> tuple[Plane, Plane]:
    q = (u + u(J + 1) - 2.0 / (u + 4.0)) / (u * u + 1.0)
    return q * u, q + q(J - 1) * w(J - 1)


@ff.program
def beside(u: Plane, w: Plane, one: Plane, two: Plane):
    halves(u, w, out=(one, two), domain=({I: (0, 9), J: (1, 38)}, {I: (0, 9), J: (2, 31)}))


def backend(**options: object) -> ff.Backend:
    target = attrs.evolve(Target.host(), l2=2048, cores=2)
    return ff.cpu.with_options(target=target, parallel_from=1, numerics="strict", **options)


def fields(count: int, rows: int = 40) -> list[ff.Field]:
    rng = np.random.default_rng(count)
    domain = {I: (-2, 21), J: (-2, rows)}
    return [
        ff.as_field(
            domain, np.asfortranarray(rng.uniform(1.0, 2.0, (23, rows + 2))), allocator=ff.cpu
        )
        for _ in range(count)
    ]


def tilings(program) -> list[Tiles]:
    return list(nodes_of(read(program.trace()["codegen"].loops), Tiles))


def results(program, chosen, given, *numbers):
    program.with_backend(chosen)(*given, *map(np.int32, numbers))
    return [each.asnumpy().copy() for each in given]


BOXES = {
    "alike": (0, 17, 0, 37, 0, 17, 0, 37, 0, 17, 0, 37),
    "one more point": (0, 17, 0, 37, 0, 18, 0, 37, 0, 17, 0, 38),
    "faces": (0, 17, 0, 37, 1, 17, 0, 37, 0, 17, 1, 37),
    "without the first": (0, 17, 5, 5, 0, 17, 0, 37, 0, 17, 1, 37),
    "the first empty across": (9, 3, 0, 37, 0, 17, 0, 37, 0, 17, 1, 30),
    "without the last": (0, 17, 0, 37, 0, 17, 3, 9, 0, 17, 30, 4),
    "only one": (0, 17, 9, 2, 4, 4, 0, 37, 2, 5, 31, 32),
    "none": (0, 0, 0, 37, 3, 2, 0, 37, 0, 17, 3, 1),
    "empty far away": (0, 9, 1 << 30, 5, 0, 9, 0, 37, 0, 17, 1 - (1 << 30), -(1 << 30)),
    "apart": (0, 5, 0, 3, 6, 9, 20, 22, 9, 17, 33, 37),
    "crossed": (0, 17, 20, 21, 4, 5, 0, 37, 8, 9, 0, 37),
}


@pytest.mark.needs_compiler
@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("boxes", BOXES.values(), ids=BOXES)
def test_groups_in_tiles_have_the_bits_of_embedded_execution(boxes, size):
    chosen = backend(tile_size=size)

    made = results(stored, chosen, fields(5), *boxes)

    for ours, meant in zip(made, results(stored, None, fields(5), *boxes), strict=True):
        np.testing.assert_array_equal(ours, meant)
    program = stored.with_backend(chosen)
    (tiles,) = tilings(program)
    assert [member.nest.group for member in tiles.members] == [0, 1, 2, 3]
    found = re.findall(r"(.*)\{  // nest \d\n", program.trace()["codegen"].text)
    assert ["if (" in each for each in found] == [False, True, True, True], "its box is not empty"


@pytest.mark.needs_compiler
@pytest.mark.parametrize("place", [2, 3])
def test_no_group_overwrites_an_input_that_a_later_row_reads(place):
    def given():
        own = fields(4)
        own[place] = own[1]
        return own

    chosen = backend(tile_size=5)
    made = results(beside, chosen, given())

    for ours, meant in zip(made, results(beside, None, given()), strict=True):
        np.testing.assert_array_equal(ours, meant)
    (tiles,) = tilings(beside.with_backend(chosen))
    assert [member.nest.group for member in tiles.members] == [0, 0, 1], "the array is the first's"
