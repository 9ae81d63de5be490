"""The form of adjoints, on which their speed depends: each value once, numbers for conditions."""

import pytest

import fieldforge as ff
from fieldforge.examples import diffusion
from fieldforge.stages.ir.dataflow import Map, Region, Shift
from fieldforge.stages.lower.alike import places_of


def stages_of(program, **options):
    domain = {diffusion.I: 8, diffusion.J: 8, diffusion.K: 2}
    wide = {diffusion.I: (-2, 10), diffusion.J: (-2, 10), diffusion.K: 2}
    out_b, u = ff.zeros(domain), ff.zeros(wide)
    return program.trace(u, ff.zeros(domain), out_b, ff.zeros(wide), **options)


@pytest.fixture(scope="module")
def trace():
    made = ff.adjoint(diffusion.diffuse.with_backend("cpu"), wrt=("u",))
    return stages_of(made)


def test_each_value_is_derived_once(trace):
    values = trace["adjoint"].artifact.program.values
    places = [
        place.value
        for value, place in zip(values, places_of(values), strict=True)
        if isinstance(value, Map)
    ]

    assert len(set(places)) == len(places)
    assert sum(isinstance(value, Region) for value in values) <= 4  # two fluxes, two inputs


def test_no_array_holds_bools(trace):
    loops = trace["codegen"].artifact.loops

    assert "array" in loops
    assert not [line for line in loops.splitlines() if "array" in line and "bool" in line]


def test_shifts_follow_no_shift_along_the_same_dimension(trace):
    values = trace["adjoint"].artifact.program.values
    shifts = [value for value in values if isinstance(value, Shift)]
    followed = [(each, values[each.arg]) for each in shifts]

    assert shifts
    assert not any(isinstance(arg, Shift) and arg.onto is each.dim for each, arg in followed)


def test_outputs_on_several_boxes_share_tiles():
    program = diffusion.diffuse.with_backend("cpu")
    made = ff.adjoint(program, wrt=("u", "coeff"))
    domain = {diffusion.I: 8, diffusion.J: 8, diffusion.K: 2}
    wide = {diffusion.I: (-2, 10), diffusion.J: (-2, 10), diffusion.K: 2}
    inputs = ff.zeros(wide), ff.zeros(domain), ff.zeros(domain)

    trace = made.trace(*inputs, ff.zeros(wide), ff.zeros(domain))

    loops = trace["codegen"].artifact.loops.splitlines()
    (tiles,) = (place for place, line in enumerate(loops) if line.startswith("    tiles"))
    nests = [line for line in loops if line.strip().startswith("nest")]
    inside = [line for line in loops[tiles:] if line.startswith("        nest")]
    around = loops[loops.index(nests[len(inside)]) :]
    assert inside == nests[: len(inside)]
    assert not any(" load " in line for line in around)  # zeros around the box of u_b
    assert "stores u_b" in "".join(inside)
    assert "stores coeff_b" in "".join(inside)
    assert not program.trace(until="codegen")["codegen"].artifact.loops.count("arena @")


def test_forward_programs_have_no_option_of_adjoints():
    forward = diffusion.diffuse.with_backend("cpu")

    assert ff.adjoint(forward).backend.options["codegen.many_outputs"] is True
    assert ff.tangent(forward).backend.options["codegen.many_outputs"] is False
    assert forward.backend.options["codegen.many_outputs"] is False
