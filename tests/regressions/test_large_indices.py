"""Indices at the ends of what a field may have: no sum of bounds leaves 64 bits."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.common import _field
from fieldforge.errors import DomainError

from ..dimensions import I, Line
from .executions import agree

LIMIT = 2**38


@ff.field_operator(backend=None)
def difference(a: Line) -> Line:
    return a(I + 1) - a(I - 1)


@ff.program(backend=None)
def differ(a: Line, out: Line):
    difference(a, out=out)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("start", [-LIMIT, LIMIT - 64])
def test_the_largest_and_smallest_indices_are_computed(start):
    meant = agree(
        differ,
        lambda: {
            "a": ff.as_field({I: (start, start + 64)}, np.arange(64.0) ** 2),
            "out": ff.zeros({I: (start + 1, start + 63)}),
        },
    )

    assert np.array_equal(meant["out"], 4.0 * np.arange(1.0, 63.0))


@ff.program(backend=None)
def differ_last(a: Line, out: Line):
    difference(a, out=out, domain={I: (4, 9223372036854775807)})


@ff.program(backend=None)
def differ_first(a: Line, out: Line):
    difference(a, out=out, domain={I: (-9223372036854775808, 4)})


@pytest.mark.needs_compiler
@pytest.mark.parametrize("backend", [None, ff.reference, ff.cpu, ff.gpu_host])
@pytest.mark.parametrize("program", [differ_last, differ_first])
def test_domains_to_the_ends_of_64_bits_are_too_large(program, backend):
    a, out = ff.zeros({I: 16}), ff.zeros({I: (3, 13)})

    with pytest.raises(DomainError, match="'out' is too small: along 'I' the program writes"):
        program.with_backend(backend)(a, out)


@pytest.mark.parametrize("start", [-LIMIT, LIMIT - 64])
def test_a_call_at_the_largest_and_smallest_indices_is_split(start):
    fields = {
        "a": ff.as_field({I: (start, start + 64)}, np.arange(64.0) ** 2),
        "out": ff.zeros({I: (start + 1, start + 63)}),
    }

    halo = {"a": {I: (start + 1, start + 63)}}
    halves = differ.with_backend(ff.reference).split(halo=halo, offset_provider={}, **fields)
    for half in (halves.inner, halves.outer):
        half(**fields, offset_provider={})

    assert np.array_equal(fields["out"].asnumpy(), 4.0 * np.arange(1.0, 63.0))


@pytest.mark.parametrize("start", [-(2**63), -LIMIT - 1, LIMIT - 63, 2**62, 2**63 - 64, 2**70])
@pytest.mark.parametrize(
    "make",
    [
        ff.zeros,
        lambda domain: ff.as_field(domain, np.zeros(64)),
        lambda domain: ff.as_field([I], np.zeros(64), origin={I: -domain[I][0]}),
        lambda domain: _field(np.zeros(64), domain=domain),
    ],
)
def test_fields_beyond_are_refused(make, start):
    with pytest.raises(
        DomainError, match=r"must lie between -2\*\*38 and 2\*\*38, but those along 'I'"
    ):
        make({I: (start, start + 64)})
