"""Threads of adjoints at usual points have code without conditions: the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.stages.codegen.gpu.options import GpuOptions
from fieldforge.stages.codegen.gpu.passes.unswitching import settled_nest, unswitch
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of

from ..texts import after

I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = ff.Field[ff.Dims[I, J], ff.float64]
RULES = GpuOptions(many_outputs=True).rules()
BOX = """\
kernel box
  dimension I horizontal
  scalar last int64
  field u float64 [I] unit I
  field out float64 [I] unit I
  group 0 (I: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      gpu usual
      %0 int64 number 1
      %1 int64 number last
      thread I: 0 .. n
        %2 int64 index I
        %3 bool ge %2 %0
        %4 bool lt %2 %1
        %5 bool and %3 %4
        %6 float64 load u[-1] when %5
        %7 float64 constant 0x0p+0
        %8 float64 select %5 %6 %7
        %9 float64 store out %8
"""
PLAIN = BOX.replace("      gpu usual\n", "")


def test_a_nest_that_is_shorter_without_conditions_is_marked():
    assert after(unswitch, PLAIN, RULES) == BOX
    assert after(unswitch, PLAIN, GpuOptions().rules()) == PLAIN


def test_a_nest_without_conditions_is_left_alone():
    plain = PLAIN.replace(" when %5", "").replace("select %5 %6 %7", "add %6 %7")
    assert after(unswitch, plain, RULES) == plain


def test_usual_points_load_and_store_only():
    (nest,) = nests_of(read(BOX))
    assert [type(row).__name__ for row in settled_nest(nest).body] == ["Load", "Store"]


@ff.field_operator
def limited(u: Plane, c: Plane) -> Plane:
    flux = ff.where((u(I + 1) - u) * (u - u(I - 1)) > 0.0, u(I + 1) - u, 0.0)
    return c * (flux - flux(I - 1)) + u(J + 1) * u(J - 1)


@ff.program
def limit(u: Plane, c: Plane, out: Plane):
    limited(u, c, out=out)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 2), (7, 40), (33, 5), (70, 9)])
@pytest.mark.parametrize("halo", [2, 3])  # where rows are aligned, and where they are not
def test_adjoints_of_every_shape_have_the_bits_of_a_cpu(shape, halo):
    wide = {dim: (-halo, size + halo) for dim, size in zip((I, J), shape, strict=True)}
    own = dict(zip((I, J), shape, strict=True))
    rng, found = np.random.default_rng(7), {}
    u, c, out_b = ((box, rng.normal(size=ff.zeros(box).shape)) for box in (wide, own, own))
    for backend in (ff.cpu, ff.gpu_host):
        given = {n: ff.as_field(*each) for n, each in (("u", u), ("c", c), ("out_b", out_b))}
        made = {"u_b": ff.zeros(wide), "c_b": ff.zeros(own)}
        ff.adjoint(limit.with_backend(backend), wrt=("u", "c"))(**given, **made)
        found[backend.name] = [made[name].asnumpy() for name in made]

    for ours, theirs in zip(*found.values(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
