"""Bounds of domains and regions are computed exactly, where numbers of their types would wrap."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import DomainError, IndexOutOfBounds
from fieldforge.experimental import concat_where

from .executions import agree

K = ff.Dimension("K", ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[K], ff.float64]

pytestmark = pytest.mark.needs_compiler

LARGEST = np.int32(2**31 - 1)
SMALLEST = np.int32(-(2**31))


@ff.field_operator(backend=None)
def below(a: Levels, n: ff.int32) -> Levels:
    return concat_where(n + 1 > K, a, 0.0)


@ff.field_operator(backend=None)
def up_to(a: Levels, n: ff.int32) -> Levels:
    return concat_where(n >= K, a, 0.0)


@ff.field_operator(backend=None)
def above(a: Levels, n: ff.int32) -> Levels:
    return concat_where(1 - (-1 - n) < K, 0.0, a)


@ff.field_operator(backend=None)
def halfway(a: Levels, n: ff.int32) -> Levels:
    doubled = ff.maximum(n, 8) * 2
    return concat_where(ff.minimum(doubled // 2, doubled) > K, a, 0.0)


@ff.field_operator(backend=None)
def called(a: Levels, n: ff.int32) -> Levels:
    return below(a, n * n + n)


@ff.field_operator(backend=None)
def squared(a: Levels, n: ff.int32) -> Levels:
    return concat_where(n**2 > K, a, 0.0)


@ff.field_operator(backend=None)
def of_literals(a: Levels, n: ff.int32) -> Levels:
    return concat_where(ff.int32(2147483647) + 1 > K, a, 0.0)


@ff.field_operator(backend=None)
def both(a: Levels, n: ff.int32) -> Levels:
    """The number itself wraps, its bound does not."""
    return concat_where(n + 2 > K, a + ff.astype(n + 2, ff.float64), 0.0)


@pytest.mark.parametrize(
    "operator", [below, up_to, above, halfway, called, squared, of_literals, both]
)
@pytest.mark.parametrize("n", [LARGEST, SMALLEST, np.int32(2)])
def test_the_bound_of_a_region_does_not_wrap(operator, n):
    """Embedded: 'K < n + 1' held nowhere where 'n' is the largest int32."""

    given = {"a": ff.as_field([K], np.arange(1.0, 9.0)), "n": n, "out": ff.zeros({K: 8})}

    holds = agree(operator, given)["out"] != 0.0

    if n == LARGEST:
        assert holds.all()


@ff.field_operator(backend=None)
def plain(a: Levels) -> Levels:
    return a


@ff.program(backend=None)
def twice_int32(a: Levels, n: ff.int32, out: Levels):
    plain(a, out=out, domain={K: (4, n * 2 + 8)})


@ff.program(backend=None)
def twice_int64(a: Levels, n: ff.int64, out: Levels):
    plain(a, out=out, domain={K: (ff.int64(4), n * ff.int64(2) + ff.int64(8))})


@ff.program(backend=None)
def more_int64(a: Levels, n: ff.int64, out: Levels):
    plain(a, out=out, domain={K: (ff.int64(4), n + ff.int64(6))})


@ff.program(backend=None)
def less_int64(a: Levels, n: ff.int64, out: Levels):
    plain(a, out=out, domain={K: (ff.int64(-6) - n, ff.int64(8))})


@ff.program(backend=None)
def all_of_uint64(a: Levels, n: ff.uint64, out: Levels):
    plain(a, out=out, domain={K: (ff.uint64(4), n)})


TOO_LARGE = [
    (twice_int32, LARGEST),
    (twice_int64, np.int64(2**63 - 1)),
    (twice_int64, np.int64(2**62)),
    (more_int64, np.int64(2**63 - 1)),
    (less_int64, np.int64(2**63 - 1)),
    (all_of_uint64, np.uint64(2**64 - 1)),
]


@pytest.mark.parametrize("backend", [None, ff.reference, ff.cpu, ff.gpu_host])
@pytest.mark.parametrize(("program", "n"), TOO_LARGE)
def test_a_domain_that_would_wrap_is_too_large(program, n, backend):
    """Levels 4 and 5 were written: 'n * 2 + 8' had wrapped to 6."""
    a, out = ff.ones({K: 12}), ff.zeros({K: 12})

    with pytest.raises((DomainError, IndexOutOfBounds), match="along 'K'"):
        program.with_backend(backend)(a, n, out)
    assert not out.asnumpy().any()


@ff.program(backend=None)
def from_far(a: Levels, n: ff.int64, out: Levels):
    plain(a, out=out, domain={K: (n * ff.int64(4), n)})


def test_a_domain_that_begins_beyond_its_end_is_empty():
    given = {"a": ff.ones({K: 12}), "n": np.int64(2**61), "out": ff.zeros({K: 12})}

    assert not agree(from_far, given)["out"].any()
