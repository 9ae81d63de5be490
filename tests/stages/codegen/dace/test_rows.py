"""Scans that hand arrays on run row by row, each thread with arrays of the size of a row."""

from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import tridiagonal
from fieldforge.runtime.calls.call_limits import threads
from fieldforge.workflows.backends.backend import BACKENDS

from ....end_to_end.gpu_calls import Box, I, J, K, down, sweep, up

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]

DACE = BACKENDS["dace_cpu"].with_options(parallel_from=1)
SHAPE = (21, 13, 9)
THREADS = "map threads"
RNG = np.random.default_rng(7)


@ff.field_operator
def of_a_neighbour(a: Box) -> Box:
    return up(down(a)(J + 1))


@ff.program
def look_aside(a: Box, out: Box):
    of_a_neighbour(a, out=out, domain={I: (0, 21), J: (0, 12), K: (0, 9)})


@ff.field_operator
def in_place(a: Box) -> Box:
    return up(down(a)) + a


@ff.program
def update(a: Box, out: Box):
    in_place(a, out=a)
    in_place(a, out=out)


def written(program: Any, backend: Any, *shape: int) -> tuple[bytes, str]:
    """Return the bytes of the last argument, and the listing of the SDFG."""
    given = np.random.default_rng(1).random(shape)
    a, out = ff.as_field([I, J, K], given), ff.zeros(dict(zip((I, J, K), shape, strict=True)))
    built = program.with_backend(backend)
    built(a, out)
    return out.asnumpy().tobytes(), built.trace(a, out)["codegen"].loops


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("program", [sweep, update])
@pytest.mark.parametrize("shape", [SHAPE, (21, 0, 9), (21, 13, 0), (0, 13, 9), (5, 1, 1)])
def test_scans_row_by_row_have_the_bits_of_the_cpu(
    program: Any, shape: tuple[int, ...], count: int
) -> None:
    expected, _ = written(program, "cpu", *shape)
    with threads(count):
        found, listing = written(program, DACE, *shape)
    assert found == expected
    assert THREADS in listing or 0 in shape  # other strides are unit ones then


def test_without_tiles_each_scan_walks_all_rows() -> None:
    expected, _ = written(sweep, "cpu", *SHAPE)
    found, listing = written(sweep, DACE.with_options(tiles=False), *SHAPE)
    assert found == expected
    assert THREADS not in listing


def test_scans_that_need_neighbouring_rows_walk_all_of_them_first() -> None:
    expected, _ = written(look_aside, "cpu", *SHAPE)
    found, listing = written(look_aside, DACE, *SHAPE)
    assert found == expected
    assert THREADS not in listing


def test_dace_fuses_by_itself_where_that_is_asked_for() -> None:
    _, listing = written(sweep, DACE.with_options(fusion="dace"), *SHAPE)
    assert THREADS not in listing


def fields(names: str, dims: Any, size: tuple[int, ...], low: float, high: float) -> dict[str, Any]:
    return {name: ff.as_field(dims, RNG.uniform(low, high, size)) for name in names.split()}


def test_a_solve_has_the_bits_of_the_cpu_if_it_writes_past_the_caches() -> None:
    given = fields("a c d x", [tridiagonal.I, tridiagonal.J, tridiagonal.K], (37, 5, 16), 0, 1)
    given |= fields("b", [tridiagonal.I, tridiagonal.J, tridiagonal.K], (37, 5, 16), 2.5, 3)
    found = []
    for backend in ("cpu", DACE.with_options(stream_from=1)):
        tridiagonal.solve.with_backend(backend)(**given)
        found.append(given["x"].asnumpy().tobytes())
    assert found[0] == found[1]
