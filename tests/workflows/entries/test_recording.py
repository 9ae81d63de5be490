"""`record`: a step makes the same calls again, with other fields in its slots, or says why not."""

import contextlib
import threading
import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.runtime.fields.field import make
from fieldforge.runtime.process import hooks

from ...dimensions import I, Line


@ff.field_operator
def plus(u: Line, more: ff.float64) -> Line:
    return u + more


@ff.field_operator(backend=ff.cpu)
def doubled(u: Line) -> Line:
    return u + u


@ff.program(backend=ff.cpu)
def add(u: Line, more: ff.float64, out: Line):
    plus(u, more, out=out)


def line(*values):
    return ff.as_field([I], list(values))


@pytest.fixture
def now():
    return line(1.0, 2.0)


@pytest.fixture
def new():
    return line(0.0, 0.0)


def test_a_step_makes_all_calls_again_in_order(now, new):
    with ff.record() as step:
        add(now, 1.0, new)
        doubled(new, out=now)
    assert now.asnumpy().tolist() == [4.0, 6.0]

    step()

    assert now.asnumpy().tolist() == [10.0, 14.0]
    assert len(step) == 2
    assert str(step).splitlines()[1:] == ["   0  add", "   1  doubled"]


def test_time_levels_are_swapped_by_giving_the_slots_anew(now, new):
    with ff.record(now=now, new=new) as step:
        add(now, 1.0, new)

    step(now=new, new=now)
    assert now.asnumpy().tolist() == [3.0, 4.0]
    step()
    assert new.asnumpy().tolist() == [4.0, 5.0]
    step(new=line(0.0, 0.0))
    assert new.asnumpy().tolist() == [4.0, 5.0]


def test_more_choices_of_fields_than_are_kept_work_too(now, new):
    with ff.record(new=new) as step:
        add(now, 1.0, new)
    others = [line(0.0, 0.0) for _ in range(30)]

    for other in others:
        step(new=other)

    assert all(other.asnumpy().tolist() == [2.0, 3.0] for other in others)


def test_fields_of_another_size_are_checked_again(now, new):
    with ff.record(now=now, new=new) as step:
        add(now, 1.0, new)
    large = line(*map(float, range(9)))

    step(now=large, new=large)
    assert large.asnumpy().tolist() == list(map(float, range(1, 10)))
    with (
        pytest.raises(ff.errors.DomainError, match="'u' is too small"),
        pytest.warns(UserWarning, match="one by one: call 0, of 'add': Field 'u' is too small"),
    ):
        step(now=now, new=large)


def test_a_step_that_does_not_fit_makes_its_calls_and_says_why_once(now, new):
    with ff.record(new=new) as step:
        add(now, 1.0, new)
        add(new, 1.0, now)
    gaps = make(np.zeros(4)[::2], new.domain)  # another layout: another variant

    with pytest.warns(UserWarning, match="one by one: call 0, of 'add', has no variant"):
        step(new=gaps)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(new=gaps)

    assert gaps.asnumpy().tolist() == [6.0, 7.0]


@pytest.mark.filterwarnings("ignore:Program")
def test_calls_that_run_in_python_are_made_one_by_one(now, new):
    embedded = add.with_backend(None)
    with ff.record(now=now, new=new) as step:
        embedded(now, 1.0, out=new)
        add(new, 1.0, now)
    assert now.asnumpy().tolist() == [3.0, 4.0]

    with pytest.warns(UserWarning, match="has calls that run in Python"):
        step(now=new, new=now)

    assert new.asnumpy().tolist() == [4.0, 5.0]


def test_a_slot_that_no_call_uses_is_refused(now, new):
    refused = pytest.raises(ArgumentError, match="No recorded call takes the field of slot 'other'")
    with refused, ff.record(now=now, other=line(1.0)):
        add(now, 1.0, new)


def test_another_view_of_the_memory_of_a_slot_is_refused(new):
    whole = line(1.0, 2.0, 3.0)
    part = whole[0:2]

    refused = pytest.raises(ArgumentError, match="another view of the memory of slot 'whole'")
    with refused, ff.record(whole=whole):
        add(whole, 1.0, line(0.0, 0.0, 0.0))
        add(part, 1.0, new)


def test_slots_are_fields_and_known_by_name(now, new):
    refused = pytest.raises(ArgumentError, match="a field or a number of NumPy, got 'float'")
    with refused, ff.record(more=1.0):
        pass
    with ff.record(now=now) as step:
        add(now, 1.0, new)
    with pytest.raises(TypeError, match="no slot 'then'"):
        step(then=now)
    with pytest.raises(TypeError, match="by name"):
        step(now)


def test_numbers_are_exchanged(now, new):
    more, other = np.float64(1.0), np.float64(1.0)
    with ff.record(more=more) as step:
        add(now, more, new)
        add(new, other, now)

    step(more=np.float64(5.0))
    assert (new.asnumpy().tolist(), now.asnumpy().tolist()) == ([8.0, 9.0], [9.0, 10.0])
    step(more=-1.0)  # other numbers are those of the recording
    assert (new.asnumpy().tolist(), now.asnumpy().tolist()) == ([8.0, 9.0], [9.0, 10.0])
    step()
    assert new.asnumpy().tolist() == [10.0, 11.0]


def test_a_number_that_is_compiled_in_selects_the_variant(now, new):
    static = add.with_static_params("more")
    more = np.float64(1.0)
    static(now, 7.0, new)
    with ff.record(more=more) as step:
        static(now, more, new)

    for given in (7.0, 1.0, 3.0):  # the last one is built
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step(more=np.float64(given))
        assert new.asnumpy().tolist() == [1.0 + given, 2.0 + given]


def test_fields_and_numbers_of_slots_are_exchanged_together(now, new):
    more = np.float64(1.0)
    with ff.record(now=now, new=new, more=more) as step:
        add(now, more, new)

    step(now=new, new=now, more=np.float64(0.5))
    assert now.asnumpy().tolist() == [2.5, 3.5]


@ff.field_operator
def weighed(u: Line, weights: tuple[ff.float64, ff.float64]) -> Line:
    return weights[0] * u + weights[1]


@ff.program(backend=ff.cpu)
def weigh(u: Line, weights: tuple[ff.float64, ff.float64], out: Line):
    weighed(u, weights, out=out)


def test_numbers_of_slots_are_arguments_of_their_own(now, new):
    more = np.float64(1.0)
    refused = pytest.raises(ArgumentError, match=r"Call 0 .* number of slot 'more' inside a tuple")
    with refused, ff.record(more=more):
        weigh(now, (more, 1.0), new)
    refused = pytest.raises(ArgumentError, match="No recorded call takes the number of slot 'more'")
    with refused, ff.record(more=more):
        add(now, 1.0, new)


@ff.field_operator
def summed(pair: tuple[Line, Line]) -> Line:
    return pair[0] + pair[1]


@ff.program(backend=ff.cpu)
def add_up(pair: tuple[Line, Line], out: Line):
    summed(pair, out=out)


def test_slots_inside_tuples_are_exchanged(now, new):
    with ff.record(now=now) as step:
        add_up((now, line(1.0, 1.0)), new)

    step(now=line(5.0, 6.0))

    assert new.asnumpy().tolist() == [6.0, 7.0]


def test_hooks_see_each_call_of_a_step(now, new):
    seen = []
    with ff.record() as step:
        add(now, 1.0, new)
        add(now, 2.0, new)

    def watch(program, args, offset_provider, enable_jit, kwargs):
        seen.append(program.__name__)
        return contextlib.nullcontext()

    hooks.program_call_context.register(watch)
    try:
        step()
    finally:
        hooks.program_call_context.remove(watch)

    assert seen == ["add", "add"]


def test_an_input_that_overlaps_the_output_is_copied_in_every_replay():
    @ff.field_operator
    def shifted(u: Line) -> Line:
        return u(I + 1)

    @ff.program(backend=ff.cpu)
    def shift(u: Line, out: Line):
        shifted(u, out=out)

    memory = np.arange(6.0)
    u, out = make(memory, ff.domain({I: 6})), make(memory[:5], ff.domain({I: 5}))
    with ff.record() as step:
        shift(u, out)
    step()

    assert memory.tolist() == [2.0, 3.0, 4.0, 5.0, 5.0, 5.0]


def test_only_the_calls_of_this_thread_are_recorded(now, new):
    other = threading.Thread(target=add, args=(now, 1.0, line(0.0, 0.0)))
    with ff.record() as step:
        other.start()
        other.join()
        add(now, 1.0, new)

    assert len(step) == 1


def test_a_recording_inside_a_recording_is_refused(now, new):
    with ff.record(), pytest.raises(RuntimeError, match="recording already"), ff.record():
        pass


def test_threads_may_replay_one_step_at_once(now):
    with ff.record(new=(new := line(0.0, 0.0))) as step:
        for _ in range(20):
            add(now, 1.0, new)
    fields = [line(0.0, 0.0) for _ in range(4)]
    failures = []

    def work(field):
        for _ in range(200):
            field.ndarray[:] = 0.0
            step(new=field)
            if field.asnumpy().tolist() != [2.0, 3.0]:
                failures.append(field)

    workers = [threading.Thread(target=work, args=(field,)) for field in fields]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert not failures


def test_programs_with_bound_arguments_are_recorded_and_made_one_by_one(now, new):
    program = add.with_bound_args(more=1.0)
    with ff.record(new=new) as step:
        program(now, out=new)
    gaps = make(np.zeros(4)[::2], new.domain)

    with pytest.warns(UserWarning, match="has no variant"):
        step(new=gaps)
    step(new=gaps)

    assert gaps.asnumpy().tolist() == [2.0, 3.0]


def test_operators_are_recorded_and_made_one_by_one(now, new):
    with ff.record(now=now) as step:
        doubled(now, out=new)
        doubled(new, out=new, domain={I: (0, 1)})
    gaps = make(np.array([3.0, 0.0, 5.0, 0.0])[::2], now.domain)

    with pytest.warns(UserWarning, match="has no variant"):
        step(now=gaps)

    assert new.asnumpy().tolist() == [12.0, 10.0]
