"""Calls are watched while somebody watches, and cost nothing more otherwise."""

from contextlib import contextmanager

import attrs
import pytest

import fieldforge as ff
from fieldforge.runtime import _core
from fieldforge.runtime.calls import observation
from fieldforge.runtime.process import current, hooks, metrics, set_current

from ...dimensions import I, Line


@pytest.fixture(autouse=True)
def own_sources(monkeypatch):
    monkeypatch.setattr(metrics, "sources", metrics._Sources())


def measure(level):
    set_current(attrs.evolve(current(), collect_metrics=level))


def smooth():
    """Stands for a program."""


@contextmanager
def around(program, args, offset_provider, enable_jit, kwargs):
    yield


def test_calls_are_watched_while_a_hook_is_used():
    before = observation.active()
    hooks.program_call_context.register(around)
    during = observation.active()
    hooks.program_call_context.remove(around)

    assert (before, during, observation.active()) == (False, True, False)


def test_calls_are_watched_while_metrics_are_collected():
    measure(metrics.MINIMAL)
    during = observation.active()
    measure(metrics.DISABLED)

    assert (during, observation.active()) == (True, False)


def test_subscribers_hear_of_changes_and_of_nothing_else(monkeypatch):
    heard = []
    monkeypatch.setattr(observation, "_listeners", [heard.append])

    measure(metrics.MINIMAL)
    hooks.program_call_context.register(around)
    measure(metrics.ALL)
    measure(metrics.DISABLED)
    hooks.program_call_context.remove(around)

    assert heard == [True, False]


def test_a_compiled_call_gives_total_and_compute_to_the_source_of_its_variant():
    measure(metrics.PERFORMANCE)

    with (
        observation.program_call(smooth, (1,), {}, None),
        observation.compiled_call(smooth, (1,), {}, None, ("smooth", "cpu"), "u: I", 3),
    ):
        pass

    [(key, source)] = metrics.sources.items()
    assert key.startswith("smooth<'cpu', 3>[")
    assert sorted(source.metrics) == ["compute", "total"]
    assert source.metadata == {"name": "smooth", "backend": "cpu", "variant": "u: I"}
    [total], [compute] = (source.metrics[name].samples for name in ("total", "compute"))
    assert total >= compute


def test_a_call_that_fails_leaves_no_sample_and_no_key():
    measure(metrics.ALL)

    with pytest.raises(LookupError), observation.program_call(smooth, (), {}, None):
        raise LookupError

    assert not metrics.sources
    assert not metrics.is_current_source_key_set()


@ff.field_operator
def same(u: Line) -> Line:
    return u


@ff.program(backend=ff.cpu)
def copy(u: Line, out: Line):
    same(u, out=out)


def test_compute_is_the_time_inside_generated_code_alone():
    u, out = ff.ones({I: 3}), ff.zeros({I: 3})
    copy(u, out)
    before = _core.kernel_seconds()

    measure(metrics.PERFORMANCE)
    copy(u, out)
    inside = _core.kernel_seconds() - before
    measure(metrics.DISABLED)
    copy(u, out)

    [source] = metrics.sources.values()
    assert source.metrics["compute"].samples == [pytest.approx(inside)]
    assert 0.0 < inside <= source.metrics["total"].mean
    assert _core.kernel_seconds() - before == inside
