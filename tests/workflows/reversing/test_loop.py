"""`reversed_loop`: gradients of runs; every schedule has the bits of all states stored."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fieldforge as ff
from fieldforge.errors import ArgumentError, DerivativeError
from fieldforge.runtime import gpu
from fieldforge.workflows.reversing import acts, gradient_run, states

from .steps import COUNT, I, advance, differences, drawn, field, multiply, run_step, square

STEPS = 25
schedules = pytest.importorskip("checkpoint_schedules", reason="the extra 'adjoint'")
ALL = {
    "one": {"checkpoints": 1},
    "four": {"checkpoints": 4},
    "more than steps": {"checkpoints": 40},
    "disk": {"checkpoints": 0, "on_disk": 4},
    "both": {"checkpoints": 2, "on_disk": 3},
    "memory": {"checkpoints": lambda _: schedules.SingleMemoryStorageSchedule()},
    "all on disk": {"checkpoints": lambda _: schedules.SingleDiskStorageSchedule(move_data=True)},
    "mixed": {
        "checkpoints": lambda n: schedules.MixedCheckpointSchedule(
            n, 4, storage=schedules.StorageType.RAM
        )
    },
    "two levels": {"checkpoints": lambda _: schedules.TwoLevelCheckpointSchedule(7, 3)},
    "revolve": {"checkpoints": lambda n: schedules.Revolve(n, 4)},
    "hrevolve": {"checkpoints": lambda n: schedules.HRevolve(n, 2, 3)},
    "disk revolve": {"checkpoints": lambda n: schedules.DiskRevolve(n, 3)},
}


def cost(number, now):
    off = now.asnumpy() - drawn(5)
    return 0.5 * float(off @ off), {"now": field(off)}


def loop(at=None, **options):
    return ff.reversed_loop(
        run_step(), carry={"new": "now"}, cost=cost, at=at, wrt=("k",), progress=None, **options
    )


def run(at, start, k):
    """Return the costs of a run."""
    step, total = run_step(), 0.0
    now, new, k = field(start), field(0.0 * start), field(k)
    for number in range(STEPS + 1):
        total += cost(number, now)[0] if number in at else 0.0
        step(now=now, new=new, k=k)
        now, new = new, now
    return total


@pytest.mark.parametrize("at", [(STEPS,), (3, 9, STEPS), (0, 5, 12)])
def test_a_gradient_is_that_of_the_run(at):
    start, k = drawn(9), drawn(4)

    value, found = loop(at)(steps=STEPS, now=field(start), k=field(k))

    assert_allclose(value, run(at, start, k), rtol=1e-14)
    by_start = differences(lambda x: run(at, x, k), start)
    assert_allclose(found["now"].asnumpy(), by_start, rtol=1e-6, atol=1e-9)
    by_k = differences(lambda x: run(at, start, x), k)
    assert_allclose(found["k"].asnumpy(), by_k, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_every_schedule_has_the_bits_of_all_states(name):
    value, found = loop((7, STEPS))(steps=STEPS, now=field(drawn(9)))
    own = loop((7, STEPS), **ALL[name])

    for _ in range(2):
        again, other = own(steps=STEPS, now=field(drawn(9)))

        assert again == value
        for each in ("now", "k"):
            assert_array_equal(other[each].asnumpy(), found[each].asnumpy())


@pytest.mark.parametrize(("steps", "memory"), [(25, 4), (25, 1), (100, 10), (7, 3)])
def test_as_many_steps_are_repeated_as_the_optimum_has(steps, memory):
    own = loop(checkpoints=memory)

    own(steps=steps, now=field(drawn(9)))

    optimum = schedules.multistage.optimal_steps_binomial(steps, memory)
    assert own.report.forward_steps == optimum - steps
    assert own.report.states_in_memory == min(memory, steps - 1)


def test_states_on_disk_are_gone_after_an_interrupt(tmp_path):
    seen = []

    def tell(done, total):
        seen.append(sorted(tmp_path.rglob("*.npy")))
        if done == 30:
            raise KeyboardInterrupt

    own = ff.reversed_loop(
        run_step(), carry={"new": "now"}, cost=cost, checkpoints=0, on_disk=4, folder=tmp_path,
        progress=tell,
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        own(steps=STEPS, now=field(drawn(9)))

    assert any(seen)
    assert not list(tmp_path.iterdir())


def test_a_gradient_after_an_interrupt_is_what_it_would_have_been():
    def tell(done, total):
        if done == tell.stop:
            raise KeyboardInterrupt

    own = ff.reversed_loop(
        run_step(), carry={"new": "now"}, cost=cost, checkpoints=4, progress=tell
    )  # fmt: skip
    value, found = loop(checkpoints=4)(steps=STEPS, now=field(drawn(9)))
    for tell.stop in (3, 20, 30):
        with pytest.raises(KeyboardInterrupt):
            own(steps=STEPS, now=field(drawn(9)))
    tell.stop = None

    again, other = own(steps=STEPS, now=field(drawn(9)))

    assert (again, *other["now"].asnumpy()) == (value, *found["now"].asnumpy())


def test_a_step_with_halos_is_reversed_without_python_between_its_calls():
    own = loop()

    own(steps=2, now=field(drawn(9)))

    assert "fill_halo_adjoint" in [act.name for act in own.carried.back.acts]
    assert all(act.is_native for act in own.carried.back.acts)


def test_progress_tells_all_steps():
    told = []
    own = ff.reversed_loop(
        run_step(), carry={"new": "now"}, cost=cost, checkpoints=4,
        progress=lambda *pair: told.append(pair),
    )  # fmt: skip

    own(steps=STEPS, now=field(drawn(9)))

    total = own.report.forward_steps + STEPS
    assert told == [(done, total) for done in range(1, total + 1)]


def test_steps_that_change_their_state_in_place():
    a, c, v, k = (field(drawn(seed)) for seed in range(4))
    with ff.record(now=a) as step:
        advance(a, v, k, c, COUNT)
        ff.fill_halo(c, {I: (0, 6)}, {I: "periodic"})
        advance(c, v, k, a, COUNT)
        ff.fill_halo(a, {I: (0, 6)}, {I: "periodic"})
    every = ff.reversed_loop(step, carry=["now"], cost=cost, progress=None)
    some = ff.reversed_loop(step, carry=["now"], cost=cost, progress=None, checkpoints=2)

    value, found = every(steps=9, now=field(drawn(9)))
    again, other = some(steps=9, now=field(drawn(9)))

    assert (again, *other["now"].asnumpy()) == (value, *found["now"].asnumpy())
    moved = field(drawn(9) + 1e-6 * drawn(8))
    more, _ = every(steps=9, now=moved)
    assert_allclose(more - value, 1e-6 * found["now"].asnumpy() @ drawn(8), rtol=1e-4)


def test_no_state_is_copied_where_steps_write_all_of_it(monkeypatch):
    a, b = (field(drawn(seed)) for seed in range(2))
    with ff.record(now=a) as step:
        square(a, b)
        square(b, a)
    made = []
    for module in (acts, states, gradient_run):
        own = module.copy_in
        monkeypatch.setattr(
            module, "copy_in", lambda *given, own=own: (made.append(given), own(*given))
        )
    few = ff.reversed_loop(step, carry=["now"], cost=cost, progress=None, checkpoints=3)
    start = 1.0 + 0.1 * drawn(9)

    few(steps=STEPS, now=field(start))  # makes fields, as copies of others
    made.clear()

    value, found = few(steps=STEPS, now=field(start))

    assert len(made) == 2  # the start, and the gradient at the end
    every = ff.reversed_loop(step, carry=["now"], cost=cost, progress=None)
    again, other = every(steps=STEPS, now=field(start))
    assert (value, *found["now"].asnumpy()) == (again, *other["now"].asnumpy())
    held = few.bytes
    few(steps=STEPS, now=field(start))
    assert few.bytes == held  # memory is allocated once


@pytest.mark.parametrize("options", [{}, {"checkpoints": 2}, {"checkpoints": 1, "on_disk": 2}])
def test_time_levels_are_handed_on(options):
    """A leapfrog: what is now becomes what was before, and is no copy of it."""
    old, now, new, v = (field(drawn(seed)) for seed in range(4))
    with ff.record(old=old, now=now, new=new) as step:
        multiply(now, v, new, COUNT)
        ff.fill_halo(new, {I: (0, 6)}, {I: "periodic"})
        square(old, old)
        multiply(new, old, new, COUNT)
    leap = ff.reversed_loop(
        step, carry={"new": "now", "now": "old"}, at=[4, 9], progress=None,
        cost=lambda number, old, now: (float(ff.sum(old * now)), {"old": now, "now": old}),
        **options,
    )  # fmt: skip
    start = {"old": 0.5 * drawn(8), "now": 0.5 * drawn(9)}

    def run(**values):
        return leap(steps=9, **{name: field(each) for name, each in values.items()})

    found = run(**start)[1]

    for name in start:
        way = 1e-6 * drawn(5)
        ahead, behind = (run(**start | {name: start[name] + h * way})[0] for h in (1, -1))
        assert_allclose(ahead - behind, 2 * found[name].asnumpy() @ way, rtol=1e-6)


def test_a_field_that_steps_carry_over_is_named():
    a, b, v, k = (field(drawn(seed)) for seed in range(4))
    with ff.record(now=a, new=b) as step:
        advance(a, v, k, b, COUNT)
        advance(b, v, k, v, COUNT)

    with pytest.raises(DerivativeError, match="before it writes it"):
        ff.reversed_loop(step, carry={"new": "now"}, cost=cost)

    with ff.record(now=a, new=b, v=v) as step:  # a slot is no state before 'carry' names it
        advance(a, v, k, b, COUNT)
        advance(b, v, k, v, COUNT)
    with pytest.raises(DerivativeError, match="before it writes it"):
        ff.reversed_loop(step, carry={"new": "now"}, cost=cost)
    ff.reversed_loop(step, carry={"new": "now", "v": "v"}, cost=cost)


def test_wrong_arguments_are_refused():
    with pytest.raises(ArgumentError, match="'old' is no slot of the step"):
        ff.reversed_loop(run_step(), carry={"new": "old"}, cost=cost)
    with pytest.raises(ArgumentError, match="needs the start of 'now'"):
        loop()(steps=3)
    with pytest.raises(ArgumentError, match="at least one checkpoint"):
        loop(checkpoints=0)(steps=3, now=field(drawn(0)))
    with pytest.raises(ArgumentError, match="at least one step"):
        loop()(steps=0, now=field(drawn(0)))
    with pytest.raises(ArgumentError, match="a cost after 9 steps, and a run has 8"):
        loop(at=[3, 9])(steps=8, now=field(drawn(0)))


@pytest.mark.needs_compiler
def test_fields_of_a_device_stay_there():
    def result(step, allocator):
        def total(number, now):
            ones = ff.as_field(now.domain, np.ones(now.shape), allocator=allocator)
            return float(now.asnumpy().sum()), {"now": ones}

        own = ff.reversed_loop(
            step, carry={"new": "now"}, cost=total, wrt=["k"], checkpoints=2, progress=None
        )
        return own(steps=5, now=field(drawn(9)))

    value, found = result(run_step(), None)
    with gpu.use_platform("null"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # halos of devices are filled by calls one by one
        step = run_step(ff.gpu_host.with_options(on_device=True), ff.gpu)
        again, other = result(step, ff.gpu)

        assert {each.device_type for each in other.values()} == {step.slots["k"].device_type}
        assert again == value
        for name in ("now", "k"):
            assert_array_equal(other[name].asnumpy(), found[name].asnumpy())


def test_gradients_of_arrays_of_xarray_have_their_coordinates_and_units():
    pytest.importorskip("xarray", reason="the extra 'xarray'")
    lon = np.linspace(0.0, 7.0, 8)
    start = field(drawn(9)).to_xarray(
        "h", units="m", coords={I: lon}, attrs={"long_name": "thickness"}
    )

    value, found = loop()(steps=3, now=start)

    again, plain = loop()(steps=3, now=field(drawn(9)))
    gradient = found["now"]
    assert value == again
    assert_array_equal(gradient.values, plain["now"].asnumpy())
    assert_array_equal(gradient["I"].values, lon)
    assert gradient.attrs == {"long_name": "derivative of the cost by thickness", "units": "(m)-1"}
    assert (gradient.name, start.attrs["units"]) == ("dJ_dnow", "m")
    assert found["k"].domain == plain["k"].domain
