"""Reversed scans walk together with scans of their direction."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import tridiagonal, vertical_advection
from fieldforge.stages.adjoint import finishing
from fieldforge.stages.ir.dataflow import Scan

DIMS = [tridiagonal.I, tridiagonal.J, tridiagonal.K]


def fields(names, shape, seed=0):
    rng = np.random.default_rng(seed)
    return {name: ff.as_field(DIMS, rng.uniform(1.0, 2.0, shape)) for name in names}


def scans_of(program):
    values = program.trace(until="adjoint")["adjoint"].artifact.program.values
    return [value for value in values if isinstance(value, Scan)]


@pytest.mark.parametrize(
    "program", [tridiagonal.solve, vertical_advection.advect], ids=["tridiagonal", "advection"]
)
def test_an_adjoint_solver_takes_one_sweep_down_and_one_up(program):
    down, up = scans_of(ff.adjoint(program.with_backend(None)))

    assert down.forward
    assert not up.forward


def test_a_body_computes_no_result_again_that_a_scan_has_given():
    down, up = scans_of(ff.adjoint(tridiagonal.solve.with_backend(None)))
    divisions = [
        sum(getattr(value, "op", "") == "div" for value in scan.body.values) for scan in (down, up)
    ]

    assert divisions == [2, 2]


def run(levels, names):
    given = fields("acdx", (3, 2, levels)) | fields("b", (3, 2, levels), seed=1)
    given["b"] = ff.as_field(DIMS, given["b"].asnumpy() + 4.0)
    seed = {names.format("x"): given.pop("x")}
    found = {names.format(name): ff.zeros(seed[names.format("x")].domain) for name in "abcd"}
    ff.adjoint(tridiagonal.solve.with_backend(None), names=names)(**given, **seed, **found)
    return [each.asnumpy() for each in found.values()]


@pytest.mark.parametrize("levels", [1, 2, 7])
def test_scans_that_walk_together_give_the_same_bits(levels, monkeypatch):
    together = run(levels, "{}_b")
    calls = []
    monkeypatch.setattr(finishing, "merged", lambda program: calls.append(program) or program)
    alone = run(levels, f"{{}}_alone{levels}")  # another name, another key

    assert calls
    for one, other in zip(together, alone, strict=True):
        assert one.tobytes() == other.tobytes()
    assert together[-1].any()


def test_a_sweep_of_several_outputs_holds_what_the_next_level_reads_and_streams_all():
    fields = [ff.zeros({tridiagonal.I: 8, tridiagonal.J: 2, tridiagonal.K: 6}) for _ in range(9)]
    made = ff.adjoint(tridiagonal.solve.with_backend("cpu"))

    loops = made.trace(*fields, until="codegen")["codegen"].artifact.loops

    states = [line for line in loops.splitlines() if "# a state of" in line]
    assert len(states) == 4  # one on the way down, three on the way up
    up = loops.partition("stores a_b, b_b, c_b, d_b")[2]
    assert "streams a_b, b_b, c_b, d_b" in up
