"""`step.adjoint`: time levels, fields that are overwritten, halos, one memory by two names."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fieldforge as ff
from fieldforge.errors import ArgumentError, DerivativeError
from fieldforge.runtime.process import classes
from fieldforge.workflows.builds import background

from .steps import (
    COUNT,
    DOMAIN,
    INNER,
    I,
    Line,
    advance,
    blank,
    differences,
    drawn,
    field,
    multiply,
    run_step,
    square,
)

# each call of these reads or overwrites what others do
CALLS = {
    "first": lambda a, b, c, v: multiply(a, v, b, COUNT),
    "wall": lambda a, b, c, v: ff.fill_halo(b, INNER, {I: (None, "even")}),
    "all of c": lambda a, b, c, v: square(b, c),
    "one memory twice": lambda a, b, c, v: multiply(c, b, b, COUNT),
    "in place with a shift": lambda a, b, c, v: multiply(c, a, c, COUNT),
    "periodic": lambda a, b, c, v: ff.fill_halo(c, INNER, {I: "periodic"}),
    "squares": lambda a, b, c, v: multiply(c, c, b, COUNT),
    "odd walls": lambda a, b, c, v: ff.fill_halo(b, INNER, {I: ("odd", 3.0)}),
}


def recorded(names):
    a, b, c, v = (field(drawn(seed)) for seed in range(4))
    with ff.record(now=a, new=b) as step:
        for name in names:
            CALLS[name](a, b, c, v)
    return step


@pytest.mark.parametrize(
    "without",
    [(), ("odd walls",), ("periodic",), ("in place with a shift", "periodic"),
     ("one memory twice",), ("squares", "odd walls", "one memory twice")],
)  # fmt: skip
def test_an_adjoint_is_that_of_all_calls(without):
    step = recorded([name for name in CALLS if name not in without])
    back = step.adjoint(wrt=["now"], of=["new"])
    start, weights = drawn(9), drawn(10)

    def cost(values):
        new = field(np.zeros_like(start))
        step(now=field(values), new=new)
        return float(new.asnumpy() @ weights)

    given, found = field(weights), blank()
    expected = differences(cost, start)
    for _ in range(2):  # recorded, and replayed with other fields
        found = blank()
        back(now=field(start), new=blank(), new_b=given, now_b=found)
        assert_allclose(found.asnumpy(), expected, rtol=1e-7, atol=1e-7)
        assert_array_equal(given.asnumpy(), weights)


def test_what_is_overwritten_is_copied_and_listed():
    back = recorded(list(CALLS)).adjoint(wrt=["now"], of=["new"])

    assert [(each.call, each.parameter, each.bytes) for each in back.saves] == [(4, "out", 64)]
    assert back.bytes == 64 * 4
    assert str(back).splitlines()[1] == "  multiply"


def test_calls_that_no_adjoint_reads_do_not_run_again():
    a, b, c, v = (field(drawn(seed)) for seed in range(4))
    with ff.record(now=a, new=b) as step:
        multiply(v, v, c, COUNT)
        multiply(a, v, b, COUNT)  # linear in what moves
    back, found = step.adjoint(wrt=["now"], of=["new"]), blank()

    assert str(back).splitlines()[1:] == ["  multiply_adjoint"]
    back(now=a, new=b, new_b=field(np.ones(8)), now_b=found)
    expected = np.zeros(8)
    expected[1:7] += v.asnumpy()[1:7]
    expected[2:8] += 1.0
    assert_array_equal(found.asnumpy(), expected)


def test_halves_give_what_the_whole_gives_and_make_the_step():
    step = run_step()
    back = step.adjoint(wrt=["now", "k"], of=["new"])
    names = ("now", "new", "k", "new_b", "now_b", "k_b")
    given = {name: field(drawn(seed)) for seed, name in enumerate(names)}
    again = {name: field(drawn(seed)) for seed, name in enumerate(names)}
    plain = {name: field(drawn(seed)) for seed, name in enumerate(names[:3])}

    back(**given)
    back.forward(**again)
    step(**plain)
    assert_array_equal(again["new"].asnumpy(), plain["new"].asnumpy())
    back.backward(**again)

    for name in ("now_b", "k_b"):
        assert_array_equal(given[name].asnumpy(), again[name].asnumpy())


def test_programs_without_a_backend_and_numbers_of_slots():
    @ff.field_operator(backend=None)
    def scaled(u: Line, by: ff.float64) -> Line:
        return by * u * u

    @ff.program(backend=None)
    def scale(u: Line, by: ff.float64, out: Line):
        scaled(u, by, out=out)

    by, a, b = np.float64(2.0), field(drawn(0)), field(drawn(1))
    with ff.record(now=a, new=b, by=by) as step:
        scale(a, by, b)
    back, found = step.adjoint(wrt=["now"], of=["new"]), blank()

    back(now=a, new=b, by=np.float64(3.0), new_b=field(np.ones(8)), now_b=found)

    assert_allclose(found.asnumpy(), 6.0 * drawn(0))


def test_what_does_not_move_the_cost_has_the_adjoint_zero():
    a, b, v = (field(drawn(seed)) for seed in range(3))
    with ff.record(now=a, new=b) as step:
        square(a, b)
        square(v, b)
    found = blank()

    step.adjoint(wrt=["now"], of=["new"])(now=a, new=b, new_b=field(drawn(4)), now_b=found)

    assert_array_equal(found.asnumpy(), 0.0)


def test_wrong_names_are_refused():
    step = run_step()

    with pytest.raises(DerivativeError, match="'wrt' names 'nov', which is no slot") as error:
        step.adjoint(wrt=["nov"], of=["new"])
    assert "Did you mean 'now'?" in str(error.value)
    with pytest.raises(ArgumentError, match="needs 'new_b'"):
        step.adjoint(wrt=["now"], of=["new"])(now_b=None)
    with pytest.raises(ArgumentError, match="takes no 'nov'"):
        step.adjoint(wrt=["now"], of=["new"])(nov=None)


def test_operators_and_parts_of_memory_are_refused():
    a, b, v = (field(drawn(seed)) for seed in range(3))
    operator = ff.field_operator(backend="rows")(square_of)
    with ff.record(now=a) as step:
        operator(a, out=b)
    with pytest.raises(DerivativeError, match="Call 0 of the recording, of 'square_of', is none"):
        step.adjoint(wrt=["now"], of=["now"])

    part = b[I(0) : I(7)]
    with ff.record(now=a) as step:
        square(a, b)
        multiply(part, v, a, np.int32(3))
    with pytest.raises(DerivativeError, match="takes a part of the memory"):
        step.adjoint(wrt=["now"], of=["now"])


def square_of(u: Line) -> Line:
    return u * u


def test_the_tape_gives_the_same():
    a, b, v, k = (field(drawn(seed)) for seed in range(4))
    with ff.record(now=a, new=b) as step:
        advance(a, v, k, b, COUNT)
    found, weights = blank(), drawn(7)
    start = {"u": a, "v": v, "k": k, "out": ff.zeros(DOMAIN), "n": COUNT}
    _, pull = ff.vjp(advance.with_backend(None), start)

    step.adjoint(wrt=["now"], of=["new"])(new_b=field(weights), now_b=found)

    assert_allclose(found.asnumpy(), pull({"out": weights})["u"].asnumpy(), rtol=1e-14)


def test_adjoints_of_a_step_are_built_side_by_side(setting, monkeypatch):
    setting(jobs=2, tiers="compiled")
    step = recorded(["first", "all of c", "squares"])
    back, found = step.adjoint(wrt=["now"], of=["new"]), blank()
    begun, meet = [], threading.Barrier(2, timeout=60)
    alone = background.begin

    def begin(order):
        begun.append(order.name)
        first = classes.evolve(order, finish=lambda: (meet.wait(), order.finish())[1])
        return alone(first if len(begun) <= 2 else order)

    monkeypatch.setattr(background, "begin", begin)
    back(now=field(drawn(9)), new=blank(), new_b=field(drawn(10)), now_b=found)

    assert len(begun) == len(set(begun)) + 1  # 'multiply' has two adjoints
    assert found.asnumpy().any()
