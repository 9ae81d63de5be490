"""Rows that pass the box of their values: what lies around it is written apart."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import diffusion
from fieldforge.examples.diffusion import I, J, K

HALO = 2


def field(rng: np.random.Generator, n: int, halo: int):
    domain = {I: (-halo, n + halo), J: (-halo, 9 + halo), K: 2}
    return ff.as_field(domain, rng.normal(size=(n + 2 * halo, 9 + 2 * halo, 2)))


def adjoints(backend, n: int) -> dict[str, bytes]:
    rng = np.random.default_rng(n)
    inputs = {"u": field(rng, n, HALO), "coeff": field(rng, n, 0), "out_b": field(rng, n, 0)}
    found = {"u_b": field(rng, n, HALO), "coeff_b": field(rng, n, 0)}
    ff.adjoint(diffusion.diffuse.with_backend(backend), wrt=("u", "coeff"))(**inputs, **found)
    return {name: each.asnumpy().tobytes() for name, each in found.items()}


def test_points_around_a_box_are_stored_without_masks():
    made = ff.adjoint(diffusion.diffuse.with_backend(ff.cpu))

    text = made.trace(until="codegen")["codegen"].text

    assert "const auto outside = [=](s64 b, s64 end) INLINE {" in text
    assert "outside(end, " in text


@pytest.mark.parametrize("n", [1, 3, 7, 8, 9, 16, 17, 31])
def test_rows_of_any_length_have_the_bits_of_the_interpreter(n):
    compiled = ff.cpu.with_options(parallel_from=1)

    assert adjoints(compiled, n) == adjoints("reference", n)
