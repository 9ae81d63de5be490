"""`compile` for what is not a plain program: scans, operators with `domain=`, bound programs."""

from typing import TypeVar

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError

from ...dimensions import I, K

Slab = ff.Field[ff.Dims[I, K], ff.float64]
pytestmark = pytest.mark.needs_compiler


@ff.scan_operator(axis=K, forward=True, init=0.0)
def total(state: float, x: float, by: float) -> float:
    return state + x * by


@ff.field_operator
def weighted_by(u: Slab, by: float) -> Slab:
    return u * by


@ff.program
def weighted(u: Slab, by: float, out: Slab):
    weighted_by(u, by, out=out)


def test_direct_calls_of_scans_are_compiled_for_types_that_are_given(own_engine):
    program = total.with_backend("cpu")
    x, out = ff.ones({I: 2, K: 3}), ff.zeros({I: 2, K: 3})

    program.compile(types={"x": Slab, "by": float})
    ff.wait_for_compilation()

    with ff.policy("must_hit"), pytest.warns(UserWarning, match="called directly"):
        program(x, 1.0, out=out)
    assert out.asnumpy().tolist() == [[1.0, 2.0, 3.0]] * 2
    with pytest.raises(ArgumentError, match="'types' names 'y', which is no argument of 'total'"):
        program.compile(types={"y": Slab})


def test_direct_calls_with_a_domain_are_compiled_too(own_engine):
    program = weighted_by.with_backend("cpu")
    u, out = ff.ones({I: 3, K: 2}), ff.zeros({I: 3, K: 2})

    program.compile(on_part=True)
    ff.wait_for_compilation()

    with ff.policy("must_hit"):
        program(u, 2.0, out=out)
        program(u, 3.0, out=out, domain={I: (1, 3), K: (0, 2)})
    assert out.asnumpy().tolist() == [[2.0, 2.0], [3.0, 3.0], [3.0, 3.0]]


def test_bound_programs_are_compiled_for_what_is_bound(own_engine):
    rows = np.ones((3, 2))
    transposed = ff.common._field(np.ascontiguousarray(rows), domain=ff.domain({I: 3, K: 2}))
    out = ff.zeros({I: 3, K: 2})
    static = weighted.with_backend("cpu").with_static_params("by")

    one = static.bind(u=transposed, by=3.0).compile()
    other = weighted.with_backend("cpu").with_bound_args(by=2.0).compile()
    ff.wait_for_compilation()

    with ff.policy("must_hit"):
        one(out)
        assert (out.asnumpy() == 3.0).all()
        other(transposed, out)
        assert (out.asnumpy() == 2.0).all()
    assert "static by: 1 value: 3.0" in one.variants


T = TypeVar("T", ff.float32, ff.float64)


@ff.scan_operator(axis=K, forward=True, init=0.0)
def generic_total(above: T, x: T) -> T:
    return above + x


@pytest.mark.parametrize("dtype", [ff.float32, ff.float64])
def test_a_generic_scan_is_compiled_for_the_types_that_are_given(dtype, own_engine):
    scan = generic_total.with_backend("cpu")
    x, out = (ff.ones({I: 2, K: 3}, dtype=dtype) for _ in range(2))

    scan.compile(types={"x": ff.Field[ff.Dims[I, K], dtype]})
    ff.wait_for_compilation()

    with ff.policy("must_hit"), pytest.warns(UserWarning, match="called directly"):
        scan(x, out=out)
    assert out.asnumpy()[0].tolist() == [1.0, 2.0, 3.0]


def test_a_scan_names_itself_where_types_do_not_fit(own_engine):
    single = ff.Field[ff.Dims[I, K], ff.float32]

    with pytest.raises(ArgumentError, match="Expected argument 'x' of scan operator 'total'"):
        total.with_backend("cpu").compile(types={"x": single})
