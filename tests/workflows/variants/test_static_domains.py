"""Domains of fields that are compiled in: by the option, or by `compile` for some of them."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.experimental import concat_where
from fieldforge.runtime.language.ranges import Infinity
from fieldforge.runtime.language.types import FieldType, ScalarType
from fieldforge.runtime.process.errors import ArgumentError, OptionError
from fieldforge.workflows.variants.builds import NotCompiledError
from fieldforge.workflows.variants.known_domains import ranges_told

from ...dimensions import I, K

Plane = ff.Field[ff.Dims[I, K], ff.float64]


@ff.field_operator
def spread(u: Plane) -> Plane:
    inner = u(I + 1) + u(I - 1)
    return concat_where(K < 2, inner, 2.0 * inner)


@ff.scan_operator(axis=K, forward=True, init=0.0)
def summed(state: float, u: float) -> float:
    return state + u


@ff.program
def diffuse(u: Plane, out: Plane):
    spread(u, out=out[1:-1, :])
    summed(out, out=out)


def fields(extent, levels=4, first=0):
    domain = {I: (first, first + extent), K: levels}
    numbers = np.arange(extent * levels, dtype=float).reshape(extent, levels)
    return ff.as_field(ff.domain(domain), numbers), ff.zeros(ff.domain(domain))


def meant(extent, levels=4, first=0):
    u, out = fields(extent, levels, first)
    diffuse.with_backend(None)(u, out)
    return out.asnumpy()


@pytest.fixture(params=[ff.cpu, ff.reference], ids=["cpu", "reference"])
def backend(request):
    return request.param


def test_the_bounds_are_numbers_in_the_listing_and_in_the_source():
    program = diffuse.with_backend(ff.cpu).with_compilation_options(static_domains=True)
    trace = program.trace(*fields(6))

    assert "field u: [I, K] float64 on I: 0 .. 6, K: 0 .. 4\n" in trace["lower"].text
    assert "start(" not in trace["lower"].text
    assert "parallel I: 1 .. 5" in trace["codegen"].loops
    assert "fits where   u has the range 0:6 along I" in trace["bind"].text


@pytest.mark.filterwarnings("ignore:Program .* runs embedded")
def test_compile_for_a_domain_leaves_other_domains_to_code_for_all():
    program = diffuse.with_backend(ff.cpu).build(domains={"I": 6, "K": 4})

    for extent in (6, 7, 8, 6):
        u, out = fields(extent)
        program(u, out)
        assert np.array_equal(out.asnumpy(), meant(extent))

    assert [bool(variant.ranges) for variant in program._variants.table.entries] == [True, False]


def test_static_domains_may_not_compile_for_others_where_that_is_switched_off():
    program = diffuse.with_backend(ff.cpu).with_compilation_options(static_domains=True)
    program.compile(domains={"I": 6, "K": 4}, enable_jit=False)
    program(*fields(6))

    with pytest.raises(NotCompiledError, match="u along I: 0:7"):
        program(*fields(7))


def test_compile_of_static_domains_needs_to_know_them():
    program = diffuse.with_backend(ff.cpu).with_compilation_options(static_domains=True)

    with pytest.raises(OptionError, match=r"'diffuse' has static domains; 'compile' needs to know"):
        program.compile()


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"I": 4}, r"The range of 'u' along 'K' is not given, so 'diffuse' cannot be compiled"),
        ({"I": 4, "K": "all"}, "Expected the extent or the range of 'u' along 'K', got 'all'"),
        ({"I": 4, "J": 4}, "'diffuse' has neither a field nor a dimension 'J'"),
        ({"I": (0, Infinity.POSITIVE), "K": 4}, "The range of 'u' along 'I' has no end"),
        ({"I": 4, "K": 4, "u": 3}, "Expected a domain for 'u', got '3'"),
    ],
)
def test_domains_that_say_too_little_or_nonsense_are_refused(told, message):
    with pytest.raises(ArgumentError, match=message):
        diffuse.with_backend(ff.cpu).compile(domains=told)


def test_fields_and_domains_tell_the_ranges_of_a_parameter():
    parameters = [("u", FieldType((I,), ScalarType("float64")))]

    for told in (ff.zeros({I: (2, 5)}), ff.domain({I: (2, 5)}), {I: (2, 5)}, {"I": (2, 5)}):
        assert ranges_told("p", parameters, {"u": told}) == (("u", "I", 2, 5),)


def test_a_recorded_step_falls_back_where_a_field_has_another_domain():
    program = diffuse.with_backend(ff.cpu).with_compilation_options(static_domains=True)
    (u, out), (larger_u, larger_out) = fields(6), fields(7)
    with ff.record(u=u, out=out) as step:
        program(u, out)

    with pytest.warns(UserWarning, match="one by one"):
        step(u=larger_u, out=larger_out)

    with pytest.warns(UserWarning, match="runs embedded"):
        assert np.array_equal(larger_out.asnumpy(), meant(7))
