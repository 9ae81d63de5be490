"""Recorded exchanges between ranks: gradients have the bits of one rank."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import fieldforge as ff
from fieldforge.errors import DerivativeError
from fieldforge.runtime.decomposition.blocks import blocks
from fieldforge.runtime.decomposition.exchange import local_exchanges
from fieldforge.workflows.reversing.acts import Slot

from .steps import I, Line

N, HALO, STEPS = 12, 2, 5


@ff.field_operator
def moved(u: Line, v: Line) -> Line:
    return u - 0.3 * v * (u * u - u(I - 1)) + 0.1 * (u(I + 1) - u)


@ff.program(backend="rows")
def move(u: Line, v: Line, out: Line, start: ff.int32, stop: ff.int32):
    moved(u, v, out=out, domain={I: (start, stop)})


def drawn(seed, domain):
    """Return a periodic field of N points."""
    values = np.random.default_rng(seed).normal(size=N)
    (along,) = domain.ranges
    return ff.as_field(domain, values[np.arange(along.start, along.stop) % N])


def recorded(block, exchange, beyond):
    """Record a step of two calls, which compute some points of the halo."""
    (owned,) = block.owned.ranges
    ends = np.int32(owned.start - beyond), np.int32(owned.stop + beyond)
    a, b, v = (drawn(seed, block.local) for seed in range(3))
    with ff.record(now=a, v=v) as step:
        move(a, v, b, *ends)
        exchange(b)
        move(b, v, a, *ends)
        exchange(a)
    return step, owned


def found(block, exchange, beyond=1):
    """Return the gradients of a run on the points that a rank owns."""
    step, owned = recorded(block, exchange, beyond)

    def cost(number, now):
        return 0.0, {"now": ff.as_field(now.domain, np.sin(now.asnumpy()))}

    loop = ff.reversed_loop(
        step, carry=["now"], cost=cost, at=[2, STEPS], wrt=["v"], checkpoints=2, progress=None
    )
    _, gradient = loop(steps=STEPS, now=drawn(0, block.local))
    return [gradient[name][I(owned.start) : I(owned.stop)].asnumpy() for name in ("now", "v")]


def on_ranks(count, run):
    cut = blocks({I: N}, {I: count}, halo=HALO, periodic=[I])
    exchanges = local_exchanges([block.patterns for block in cut])
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, cut, exchanges))


@pytest.mark.parametrize("ranks", [2, 3])
def test_gradients_have_the_bits_of_one_rank(ranks):
    (whole,) = on_ranks(1, found)

    shares = on_ranks(ranks, found)

    for place, values in enumerate(whole):
        assert np.abs(values).max() > 0.1
        assert_array_equal(np.concatenate([share[place] for share in shares]), values)


def test_a_step_is_replayed_with_its_exchanges():
    def run(block, exchange):
        step, _ = recorded(block, exchange, 1)
        start = drawn(7, block.local)
        step(now=start)
        (owned,) = block.owned.ranges
        return start[I(owned.start) : I(owned.stop)].asnumpy()

    assert_array_equal(np.concatenate(on_ranks(2, run)), on_ranks(1, run)[0])


def test_halos_that_no_program_computes_are_refused():
    def run(block, exchange):
        step, _ = recorded(block, exchange, 0)
        with pytest.raises(DerivativeError, match="'move' writes 'out' on points that this rank"):
            step.adjoint(wrt=["now"], of=["now"])

    on_ranks(2, run)


def test_plans_are_alike_on_all_ranks():
    """An exchange of new fields waits for the other rank, whatever its memory."""

    def run(block, exchange):
        step, _ = recorded(block, exchange, 1)
        numbers = {}

        def told(value):
            is_place = isinstance(value, Slot)
            return value.name if is_place else numbers.setdefault(id(value), len(numbers))

        carried = step.adjoint(wrt=["now"], of=["now"]).carried({"now": "now"})
        acts = (*carried.step.acts, *carried.back.acts)
        return [(act.name, [told(each) for each in act.arguments.values()]) for act in acts]

    one, *others = on_ranks(3, run)
    assert others == [one, one]
