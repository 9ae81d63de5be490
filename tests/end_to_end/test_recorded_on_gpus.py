"""Recorded steps on a GPU: one graph for each assignment of the slots, or call after call."""

import gc
import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

from ..dimensions import I, Line

BOTH = [
    "gpu-host",
    pytest.param("dace_gpu-host", marks=pytest.mark.needs_dace),  # the library queues its kernels
]
pytestmark = pytest.mark.needs_compiler


@ff.field_operator
def doubled(u: Line) -> Line:
    return u + u


@ff.program
def double(u: Line, out: Line):
    doubled(u, out=out)


@ff.field_operator
def one_more(u: Line) -> Line:
    return u + 1.0


@ff.program
def add_one(u: Line, out: Line):
    one_more(u, out=out)


@pytest.fixture(params=BOTH)
def backend(request):
    return BACKENDS[request.param].with_options(on_device=True)


@pytest.fixture
def fields():
    with gpu.use_platform("null"):
        yield [ff.ones({I: 5}, allocator=ff.gpu) for _ in range(3)]
        assert gpu.null.problems() == []


@pytest.fixture
def step(fields, backend):
    now, between, new = fields
    with ff.record(now=now, new=new) as made:
        double.with_backend(backend)(now, between)
        add_one.with_backend(backend)(between, new)
    return made


def launch(graph):
    ready = graph.instantiate()
    with gpu.Stream() as stream:
        ready.launch()
        stream.sync()


def test_a_step_is_one_graph_for_each_assignment(fields, step):
    now, _, new = fields
    with gpu.null.recorded() as calls:
        for _ in range(3):
            step(now=now, new=new)
            step(now=new, new=now)
    assert calls.count("graph_launch") == 6
    assert calls.count("capture_begin") == 2


def test_a_step_computes_what_its_calls_compute(fields, step):
    now, _, new = fields
    expected_now, expected_new = 1.0, 3.0
    for _ in range(3):
        step(now=now, new=new)
        expected_new = 2 * expected_now + 1
        step(now=new, new=now)
        expected_now = 2 * expected_new + 1
    assert (now.asnumpy() == expected_now).all()
    assert (new.asnumpy() == expected_new).all()


def test_what_cannot_be_captured_is_called_one_by_one_and_says_why(fields, step):
    now, _, new = fields
    gpu.null.fail_next("graph_instantiate", 900)
    with pytest.warns(UserWarning, match="launches its kernels one by one: "):
        step(now=now, new=new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        step(now=new, new=now)
        step(now=now, new=new)
    assert (new.asnumpy() == 2 * 7 + 1).all()


def test_a_step_inside_a_capture_becomes_part_of_it(fields, step):
    now, between, new = fields
    with gpu.Stream() as stream, stream.capture() as graph:
        step(now=now, new=new)
    launch(graph)
    assert (between.asnumpy() == 2).all()
    assert (new.asnumpy() == 3).all()


def test_a_call_inside_a_capture_is_recorded_and_does_not_run(fields, backend):
    now, between, new = fields
    with gpu.Stream() as stream, stream.capture() as graph:
        double.with_backend(backend)(now, between)
        add_one.with_backend(backend)(between, new)
    assert (between.asnumpy() == 1).all()
    assert (new.asnumpy() == 1).all()
    assert graph.nodes == 2
    launch(graph)
    assert (between.asnumpy() == 2).all()
    assert (new.asnumpy() == 3).all()


def test_a_graph_runs_when_its_program_is_gone(fields, backend):
    now, _, new = fields

    def captured():
        @ff.program(backend=backend)
        def double_once(u: Line, out: Line):
            doubled(u, out=out)

        with gpu.Stream() as stream, stream.capture() as graph:
            double_once(now, new)
        return graph

    graph = captured()
    gc.collect()
    launch(graph)
    assert (new.asnumpy() == 2).all()


def test_choices_of_fields_that_stay_ready_are_captured_once(fields, step):
    now, _, new = fields
    step.most_ready = 1
    with gpu.null.recorded() as calls:
        for _ in range(2):
            step(now=now, new=new)
            step(now=new, new=now)
    assert calls.count("capture_begin") == 4
    step.most_ready = 2
    with gpu.null.recorded() as calls:
        for _ in range(3):
            step(now=now, new=new)
            step(now=new, new=now)
    assert calls.count("capture_begin") == 1


@ff.field_operator
def twice_apart(u: Line) -> Line:
    apart = u + u
    return apart(I + 1) + apart


@ff.program
def differ(u: Line, out: Line):
    twice_apart(u, out=out, domain={I: (0, 4)})


def recorded_apart(fields):
    """Return a step whose graphs have an array."""
    now, between, new = fields
    backend = BACKENDS["gpu-host"].with_options(on_device=True, arrays=("%2",))
    with ff.record(now=now, new=new) as made:
        differ.with_backend(backend)(now, between)
        differ.with_backend(backend)(between, new)
    return made


def test_graphs_of_a_stream_share_memory_for_arrays(fields):
    now, _, new = fields
    step = recorded_apart(fields)
    with gpu.null.recorded() as calls:
        step(now=now, new=new)
        step(now=new, new=now)
        with gpu.Stream() as other:  # waits for the last use
            step(now=now, new=new)
            other.sync()
    assert calls.count("capture_begin") == 2
    assert calls.count("alloc_async") == 1
    assert calls.count("event_record") == 4
    assert calls.count("stream_wait") == 3
    found = [np.ones(5) for _ in range(3)]
    for source, target in ((0, 1), (1, 2), (2, 1), (1, 0), (0, 1), (1, 2)):
        found[target][:4] = 2 * (found[source][1:] + found[source][:4])
    np.testing.assert_array_equal(new.asnumpy(), found[2])


def test_a_graph_that_is_ready_does_not_become_part_of_a_capture(fields):
    now, _, new = fields
    step = recorded_apart(fields)
    for _ in range(2):
        step(now=now, new=new)
    expected = new.asnumpy().copy()
    new[...] = 0.0
    with gpu.Stream() as stream, stream.capture() as graph:
        step(now=now, new=new)
    del step
    gc.collect()
    launch(graph)
    np.testing.assert_array_equal(new.asnumpy()[:4], expected[:4])
