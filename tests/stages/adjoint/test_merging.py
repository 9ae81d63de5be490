"""Reversed scans walk together with scans of their direction."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import tridiagonal, vertical_advection
from fieldforge.stages.adjoint import finishing
from fieldforge.stages.adjoint.live_states import with_live_states
from fieldforge.stages.ir.dataflow import Input, Scan
from fieldforge.stages.ir.dataflow_text import parse, show

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


def test_a_sweep_back_reads_no_numerator_that_its_result_tells():
    back = ff.adjoint(vertical_advection.advect.with_backend(None), wrt=("u", "w"))
    program = back.trace(until="adjoint")["adjoint"].artifact.program
    up = next(each for each in program.values if isinstance(each, Scan) and not each.forward)
    rows, found = list(up.args), set()
    while rows:
        value = program.values[rows.pop()]
        rows += () if isinstance(value, Scan) else value.operands
        found |= {value.name} if isinstance(value, Input) else set()

    assert found == {"w"}  # not the fields that the numerator is made from


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


def test_an_adjoint_reads_nothing_for_states_that_nothing_needs():
    down, up = scans_of(ff.adjoint(tridiagonal.solve.with_backend(None), wrt=("d",)))

    assert [(len(each.init), len(each.args)) for each in (down, up)] == [(3, 4), (2, 4)]


WALK = """\
program walk(u, v, w, out)
dimension I horizontal
dimension K vertical
field u: [I, K] float64
field v: [I, K] float64
field w: [I, K] float64
field out: [I, K] float64
%0 = input u : [I, K] float64
%1 = input v : [I, K] float64
%2 = input w : [I, K] float64
%3 = literal 1.0 : float64
%4 = literal 2.0 : float64
%5 = literal 3.0 : float64
"""
BEFORE = """\
%6 = scan K forward start(out, K) .. stop(out, K) init %3 %4 %5 args %0 %1 %2 : [I, K] float64
  %0 = scalar s0 : float64
  %1 = scalar s1 : float64
  %2 = scalar s2 : float64
  %3 = scalar a0 : float64
  %4 = scalar a1 : float64
  %5 = scalar a2 : float64
  %6 = add %0 %3 : float64
  %7 = mul %1 %4 : float64
  %8 = add %1 %2 : float64
  %9 = fma %0 %5 %7 : float64
  next %6 %7 %8
"""
AFTER = """\
%6 = scan K forward start(out, K) .. stop(out, K) init %4 %5 args %1 : [I, K] float64
  %0 = scalar s0 : float64
  %1 = scalar s1 : float64
  %2 = scalar a0 : float64
  %3 = mul %0 %2 : float64
  %4 = add %0 %1 : float64
  next %3 %4
"""
END = """\
statement
  out[I: start(out, I) .. stop(out, I), K: start(out, K) .. stop(out, K)] = %7
"""


def test_states_that_read_states_need_stay():
    result = "%7 = result %6 {} : [I, K] float64\n"
    program, _, _ = parse(WALK + BEFORE + result.format(2) + END)

    assert show(with_live_states(program)) == WALK + AFTER + result.format(1) + END
