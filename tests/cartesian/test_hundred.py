"""A step of a model: many stencils that are built side by side, stored, and called at once."""

from __future__ import annotations

import importlib
import sys
import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.cartesian import gtscript
from fieldforge.workflows.engine.events import Collector, Finished, Started

from .stencils import COMPILED

COUNT = 100
HEAD = """
from fieldforge.cartesian.gtscript import BACKWARD, PARALLEL, Field, computation, interval
"""
STENCIL = """
def stencil_{number}(a: Field[float], b: Field[float], c: Field[float]):
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0] - {number}.0 * a[-1, 0, 0]
    with computation(BACKWARD):
        with interval(-1, None):
            b = t
        with interval(0, -1):
            b = t + 0.5 * b[0, 0, 1]
    with computation(PARALLEL), interval(...):
        c = c + b if a > {number}.0 else c - b
"""


@pytest.fixture(scope="module")
def definitions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hundred")
    texts = [STENCIL.format(number=number) for number in range(COUNT)]
    (folder / "hundred_stencils.py").write_text(HEAD + "\n".join(texts))
    sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module("hundred_stencils")
    finally:
        sys.path.remove(str(folder))
    yield [getattr(module, f"stencil_{number}") for number in range(COUNT)]
    sys.modules.pop("hundred_stencils")


@pytest.fixture
def two_jobs(setting):
    setting(jobs=2, tiers="compiled")


def fields():
    a = np.random.default_rng(3).random((6, 3, 5)) * 100.0
    return a, np.zeros((6, 3, 5)), np.zeros((6, 3, 5))


def by_hand(a, c, number):
    t = a[2:] - number * a[:-2]
    b = t.copy()
    for k in range(3, -1, -1):
        b[..., k] = t[..., k] + 0.5 * b[..., k + 1]
    inner = c[1:-1]
    inner[...] = np.where(a[1:-1] > number, inner + b, inner - b)


def recorded(definitions, backend):
    """Decorate, call and record the stencils of a step; return it with its fields."""
    a, b, c = fields()
    made = [gtscript.stencil(backend, each) for each in definitions]
    with ff.record() as step:
        for stencil in made:
            stencil(a, b, c, origin=(1, 0, 0), domain=(4, 3, 5))
    return step, a, c


def expected_after(steps, count):
    a, _, c = fields()
    for _ in range(steps):
        for number in range(count):
            by_hand(a, c, number)
    return c


def test_a_step_of_a_hundred_stencils_is_one_crossing(definitions):
    step, _, c = recorded(definitions, "rows")

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it would say that calls are made one by one
        step()

    assert len(step) == COUNT
    np.testing.assert_allclose(c, expected_after(2, COUNT), rtol=1e-12)


def test_the_second_process_builds_none_of_them(definitions, tmp_path):
    seen = Collector()
    for _ in range(2):
        seen.events.clear()
        with ff.using(ff.Engine(Disk(tmp_path / "store"), observers=[seen])):
            _, _, c = recorded(definitions, "rows")

    np.testing.assert_allclose(c, expected_after(1, COUNT), rtol=1e-12)
    assert not {"parse_stencil", "lower", "encode"} & set(seen.ran())


@pytest.mark.needs_compiler
def test_compilers_of_stencils_run_side_by_side(definitions, tmp_path, two_jobs):
    some = definitions[:6]
    seen = Collector()
    with ff.using(ff.Engine(Disk(tmp_path / "store"), observers=[seen])):
        step, _, c = recorded(some, COMPILED)
        step()

    np.testing.assert_allclose(c, expected_after(2, len(some)), rtol=1e-12)
    assert most_at_once(seen.events) == 2


def most_at_once(events):
    running = most = 0
    for event in sorted(events, key=lambda each: each.at):
        if getattr(event, "stage", "") == "compile":
            running += isinstance(event, Started) - isinstance(event, Finished)
            most = max(most, running)
    return most
