"""Rows of staggered fields: their elements lie beside each other as those of the loop do."""

import numpy as np
import pytest

import fieldforge as ff

I, J = ff.Dimension("I"), ff.Dimension("J")
IW, JS = ff.flip_staggered(I), ff.flip_staggered(J)
Cells = ff.Field[ff.Dims[I, J], ff.float64]
West = ff.Field[ff.Dims[IW, J], ff.float64]
South = ff.Field[ff.Dims[I, JS], ff.float64]
ACROSS, ALONG = 21, 6


@ff.field_operator
def divergence(fx: West, fy: South) -> Cells:
    return fx(I + 0.5) - fx(I - 0.5) + (fy(J + 0.5) - fy(J - 0.5))


@ff.program
def diverge(fx: West, fy: South, out: Cells, first: ff.int32, last: ff.int32):
    divergence(fx, fy, out=out, domain={I: (first, last), J: (0, ALONG)})


def test_elements_of_a_staggered_row_are_loaded_as_packs() -> None:
    text = diverge.with_backend(ff.gpu_host).trace(until="codegen")["codegen"].text
    wide = text.partition("if (aligned")[2].partition("} else")[0]
    assert "ff::load<2>(r0 + i1)" in wide
    assert "p0[" not in wide


def test_rows_across_a_staggered_dimension_are_loaded_once_for_two_points() -> None:
    backend = ff.gpu_host.with_options(points=ff.ThreadPoints(x=2, y=2))
    text = diverge.with_backend(backend).trace(until="codegen")["codegen"].text
    wide = text.partition("if (aligned")[2].partition("} else")[0]
    assert wide.count("= p1 + ") == 3


@pytest.mark.needs_compiler
@pytest.mark.parametrize("points", [ff.ThreadPoints(), ff.ThreadPoints(x=2, y=2)], ids=str)
@pytest.mark.parametrize(("first", "last"), [(0, ACROSS), (1, ACROSS), (3, 4), (2, ACROSS - 1)])
def test_any_range_has_the_bits_of_python(first: int, last: int, points: ff.ThreadPoints) -> None:
    numbers = np.random.default_rng(3)
    fx, fy = numbers.normal(size=(ACROSS + 1, ALONG)), numbers.normal(size=(ACROSS, ALONG + 1))
    found = []
    backend = ff.gpu_host.with_options(points=points)
    for each in (None, backend):
        given = [
            ff.as_field(dims, data, allocator=backend.allocator)
            for dims, data in (((IW, J), fx), ((I, JS), fy))
        ]
        out = ff.zeros({I: ACROSS, J: ALONG}, allocator=backend.allocator)
        diverge.with_backend(each)(*given, out, np.int32(first), np.int32(last))
        found.append(out.asnumpy())
    np.testing.assert_array_equal(*found)
