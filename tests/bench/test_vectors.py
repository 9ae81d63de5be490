"""Loops over lanes that are no vectors are found."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

SOURCE = """\
extern "C" double other(double);
extern "C" void both(double* to, const double* from, double* back) {
#pragma omp simd
  for (long l = 0; l < 8; ++l) {
    to[l] = from[l] * 2.0;
  }
#pragma omp simd
  for (long l = 0; l < 8; ++l) {
    back[l] = other(from[l]);
  }
}
"""


@pytest.fixture
def vectors(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("bench.vectors")


def test_a_loop_with_a_call_is_no_vector(vectors, tmp_path):
    flags = ("-O3", "-fopenmp-simd")

    assert list(vectors.loops_of(SOURCE)) == [(3, 6), (7, 10)]
    assert vectors.without_vectors(SOURCE, flags, tmp_path, "both") == ["both.cpp:7"]


def test_an_adjoint_is_generated_and_its_loops_are_found(vectors):
    made = vectors.generated(11, forward=False)

    assert len(list(vectors.loops_of(made.source))) == made.source.count(vectors.MARK) > 0
