"""Values that a row uses at several points stay in registers: fewer operations, same bits."""

import ctypes
import mmap
import re
from itertools import product

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.examples.diffusion import I, J, K
from fieldforge.examples.laplacians import seven_points, twenty_seven_points
from fieldforge.examples.precision import in_precision
from fieldforge.stages.codegen.cpu.passes.sliding import live_rows, slide
from fieldforge.stages.ir.loops.nest import Compute, Constant, Store

from .....selection import NONE
from ...texts import after, unmarked

Plane = Field[Dims[I, J], float64]
LENGTHS = (1, 2, 7, 8, 9, 16, 31, 64, 67)
SLIDES = re.compile(r"%(\d+) %(\d+) (\d+)(?=,|$)", re.MULTILINE)

# The sum over J is computed at two points: the one at I - 1 is that of the point before.
SLIDING = """\
kernel sliding
  dimension I horizontal
  dimension J horizontal
  field u float64 [I, J] unit I
  field out float64 [I, J] unit I
  group 0 (I: 0 .. n, J: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu slides %4 %9 1
      parallel J: 0 .. n
        vector I: 0 .. n
          %0 float64 load u[-1, -1]
          %1 float64 load u[-1, 0]
          %2 float64 load u[-1, 1]
          %3 float64 add %0 %1
          %4 float64 add %3 %2
          %5 float64 load u[0, -1]
          %6 float64 load u[0, 0]
          %7 float64 load u[0, 1]
          %8 float64 add %5 %6
          %9 float64 add %8 %7
          %10 float64 sub %9 %4
          %11 float64 store out %10
"""


def backend(**options):
    return ff.cpu.with_options(parallel_from=1, stream_from=1, **options)


def test_a_value_of_the_point_before_slides():
    assert after(slide, unmarked(SLIDING)) == SLIDING


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add %3 %2", "sub %3 %2"),
        ("vector I: 0 .. n", "vector I: 0 .. n backward"),
        ("store out", "store u"),
    ],
)
def test_other_values_backward_loops_and_what_the_nest_writes_do_not_slide(old, new):
    left = unmarked(SLIDING).replace(old, new)
    assert after(slide, left) == left


def loops_of(program) -> str:
    return program.trace(until="codegen")["codegen"].loops


def test_sums_of_planes_slide_by_one_and_two_points():
    moved = SLIDES.findall(loops_of(twenty_seven_points.with_backend(ff.cpu)))
    assert {int(by) for _, _, by in moved} == {1, 2}
    assert len({base for _, base, _ in moved}) >= 8, "two sums for each of four rows"


def test_a_sum_that_is_used_once_does_not_slide():
    assert "slides" not in loops_of(seven_points.with_backend(ff.cpu))


def test_live_rows_follow_slides_to_rows_behind_their_users():
    body = (
        Constant(dtype="float64", text="1.0"),
        Compute(dtype="float64", level=1, op="neg", args=(0,)),
        Compute(dtype="float64", level=1, op="add", args=(1, 1)),
        Compute(dtype="float64", level=1, op="neg", args=(0,)),
        Store(dtype="float64", level=1, buffer="out", value=2),
        Compute(dtype="float64", level=1, op="mul", args=(3, 3)),
    )
    assert live_rows(body, {}) == {0, 1, 2, 4}
    assert live_rows(body, {2: (5, 1)}) == {0, 2, 3, 4, 5}


@pytest.mark.needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_all_lengths_have_the_bits_of_computing_again(dtype):
    """Rows begin off a line, too, and stores go past the caches: first strips are short."""
    flags = {"flags": NONE} if dtype == "float64" else {}
    made = in_precision("diffusion", dtype)
    programs = (
        (made.diffuse, ("u", "coeff"), 2, 0),
        (in_precision("laplacians", dtype).twenty_seven_points, ("u",), 1, 1),
    )
    for (program, names, halo, deep), size, offset in product(programs, LENGTHS, (0, 3)):
        numbers = np.random.default_rng(size)
        results = []
        around = {
            I: (-halo - offset, size + halo),
            J: (-halo, 6 + halo),
            K: (-deep, 3 + deep),
        }
        shape = [stop - start for start, stop in around.values()]
        u = numbers.normal(size=shape).astype(dtype)
        u[numbers.random(shape) < 0.01] = np.nan
        core = {I: size, J: 6, K: 3}
        coeff = numbers.random((size, 6, 3)).astype(dtype)
        for chosen in (backend(**flags), backend(**flags).with_passes(slide=None)):
            given = {"u": ff.as_field(around, u, allocator=ff.cpu)}
            if "coeff" in names:
                given["coeff"] = ff.as_field(core, coeff, allocator=ff.cpu)
            out = ff.zeros(core, np.dtype(dtype).type, allocator=ff.cpu)
            program.with_backend(chosen)(**given, out=out)
            results.append(out.asnumpy().copy())
        assert results[0].tobytes() == results[1].tobytes(), (size, offset)
        assert size < 8 or np.isfinite(results[0]).any()


@ff.field_operator
def slope(a: Plane) -> Plane:
    return (a(I + 1) - a) / (a(I + 1) + a + 1e-9)


@ff.field_operator
def twice_limited(a: Plane) -> Plane:
    """A value that slides is made from values that slide."""
    once = slope(a)
    flux = ff.maximum(once * once(I - 1), 0.0) / (once + once(I - 1) + 1e-9)
    return a - (flux(I + 1) - flux)


@ff.program
def limit(a: Plane, out: Plane):
    twice_limited(a, out=out)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("size", [5, 8, 23, 40])
def test_values_made_from_values_that_slide_have_the_bits_of_computing_again(size):
    assert "slides" in loops_of(limit.with_backend(ff.cpu))
    a = np.random.default_rng(size).random((size + 4, 5))
    results = []
    for chosen in (backend(), backend().with_passes(slide=None)):
        out = ff.zeros({I: size, J: 5}, float64, allocator=ff.cpu)
        limit.with_backend(chosen)(a=ff.as_field({I: (-2, size + 2), J: 5}, a), out=out)
        results.append(out.asnumpy().copy())
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.needs_compiler
def test_no_point_beyond_those_of_the_stencil_is_read():
    """The last cells of the field lie at the end of a page; no one may read the next one."""
    size, page = 64, mmap.PAGESIZE
    shape = size + 4, 5
    count = 8 * shape[0] * shape[1]
    whole = mmap.mmap(-1, -(-count // page) * page + page)
    last = len(whole) - page
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    address = np.frombuffer(whole, np.uint8).ctypes.data + last
    a = np.ndarray(shape, np.float64, whole, last - count, (8, 8 * shape[0]))
    a[...] = np.random.default_rng(0).random(shape)
    out = ff.zeros({I: (2, size + 2), J: 5}, float64, allocator=ff.cpu)
    program = limit.with_backend(backend())
    assert protect(address, page, 0) == 0
    try:
        program(a=a, out=out)
    finally:
        protect(address, page, mmap.PROT_READ | mmap.PROT_WRITE)
    assert np.isfinite(out.asnumpy()).all()
