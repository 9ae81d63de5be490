"""Section 12: metrics and hooks of real calls (what they are made of: tests/runtime)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import config
from fieldforge.instrumentation import hooks, metrics

from ..dimensions import I
from .support import field, scale


@pytest.fixture(autouse=True)
def clean():
    metrics.sources.clear()
    yield
    metrics.sources.clear()


@pytest.fixture
def registered():
    """Register callbacks that go away after the test."""
    made = []

    def register(hook, callback):
        hook.register(callback)
        made.append((hook, callback))

    yield register
    for hook, callback in made:
        hook.remove(callback)


def call(program, times=1):
    out = ff.zeros({I: 3})
    for _ in range(times):
        program(field(I, [1.0, 2.0, 3.0]), 2.0, out, offset_provider={})
    assert out.asnumpy().tolist() == [2.0, 4.0, 6.0]


class TestMetrics:
    def test_12_nothing_is_measured_by_default(self, backend):
        call(scale.with_backend(backend))

        assert not metrics.is_any_level_enabled()
        assert not metrics.sources

    def test_12_whole_calls_are_measured_from_minimal_on(self, compiled, monkeypatch):
        monkeypatch.setattr(config, "COLLECT_METRICS_LEVEL", metrics.MINIMAL)
        program = scale.with_backend(compiled)

        call(program, times=3)

        [(key, source)] = metrics.sources.items()
        assert key.startswith(f"scale<'{compiled.name}'")
        assert list(source.metrics) == ["total"]
        assert len(source.metrics["total"].samples) == 3

    def test_12_compiled_code_is_measured_from_performance_on(self, compiled, monkeypatch):
        monkeypatch.setattr(config, "COLLECT_METRICS_LEVEL", metrics.PERFORMANCE)
        program = scale.with_backend(compiled)

        call(program, times=2)

        [source] = metrics.sources.values()
        assert sorted(source.metrics) == ["compute", "total"]
        total, compute = (source.metrics[name].samples for name in ("total", "compute"))
        assert len(total) == len(compute) == 2
        assert all(0.0 < c <= t for c, t in zip(compute, total, strict=True))

    def test_12_embedded_calls_have_a_source(self, monkeypatch):
        monkeypatch.setattr(config, "COLLECT_METRICS_LEVEL", metrics.ALL)

        call(scale)

        assert list(metrics.sources) == ["scale<'embedded'>"]

    def test_12_measuring_begins_and_ends_with_the_level(self, compiled, monkeypatch):
        program = scale.with_backend(compiled)
        call(program)
        with monkeypatch.context() as patched:
            patched.setattr(config, "COLLECT_METRICS_LEVEL", metrics.MINIMAL)
            call(program)
        call(program)

        [source] = metrics.sources.values()
        assert len(source.metrics["total"].samples) == 1

    def test_12_variants_have_sources_of_their_own(self, monkeypatch):
        monkeypatch.setattr(config, "COLLECT_METRICS_LEVEL", metrics.MINIMAL)

        call(scale.with_backend(ff.reference))
        call(scale.with_backend(ff.cpu))
        call(scale)

        assert len(metrics.sources) == 3
        assert metrics.dumps().count("scale<") == 3


class TestHooks:
    def test_12_every_call_goes_through_the_program_hook(self, backend, registered):
        seen = []

        @contextmanager
        def watch(program, args, offset_provider, enable_jit, kwargs):
            seen.append(("enter", program.__name__, len(args), dict(kwargs).keys()))
            yield
            seen.append(("leave",))

        program = scale.with_backend(backend)
        call(program)
        registered(hooks.program_call_context, watch)
        call(program)

        assert [entry[0] for entry in seen] == ["enter", "leave"]
        assert seen[0][1:3] == ("scale", 3)

    def test_12_the_key_of_the_source_is_known_inside(self, compiled, registered, monkeypatch):
        keys = []

        @contextmanager
        def watch(program, args, offset_provider, enable_jit, kwargs):
            yield
            keys.append(metrics.get_current_source_key())

        monkeypatch.setattr(config, "COLLECT_METRICS_LEVEL", metrics.PERFORMANCE)
        registered(hooks.program_call_context, watch)
        call(scale.with_backend(compiled))

        assert keys == list(metrics.sources)
        assert keys[0].startswith("scale")

    def test_12_embedded_calls_have_a_hook_of_their_own(self, registered):
        seen = []

        @contextmanager
        def watch(program, args, offset_provider, kwargs):
            seen.append(program.__name__)
            yield

        registered(hooks.embedded_program_call_context, watch)
        call(scale)
        call(scale.with_backend(ff.reference))

        assert seen == ["scale"]

    def test_12_compiled_code_has_a_hook_of_its_own(self, compiled, registered):
        seen = []

        @contextmanager
        def watch(program_pool, key, args, kwargs, offset_provider):
            seen.append(program_pool.root)
            assert key in program_pool.compiled_programs
            assert offset_provider == {}
            yield

        registered(hooks.compiled_program_call_context, watch)
        call(scale)
        call(scale.with_backend(compiled))

        assert seen == [("scale", compiled.name)]

    def test_12_a_variant_that_is_built_is_told(self, compiled, registered):
        seen = []

        def watch(program_pool, key, backend, argument_descriptors, offset_provider):
            assert key not in program_pool.compiled_programs
            seen.append((program_pool.root, backend.name, offset_provider))

        registered(hooks.compile_variant_hook, watch)
        program = scale.with_backend(compiled)
        call(program, times=3)

        assert seen == [(("scale", compiled.name), compiled.name, {})]

    def test_12_four_threads_may_call_one_program_with_metrics_on(self, compiled, monkeypatch):
        monkeypatch.setattr(config, "COLLECT_METRICS_LEVEL", metrics.ALL)
        program = scale.with_backend(compiled)
        call(program)
        start = threading.Barrier(4)

        def many(_):
            start.wait()
            call(program, times=100)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(many, range(4)))

        [source] = metrics.sources.values()
        assert len(source.metrics["total"].samples) == 401

    def test_12_an_error_passes_through_and_leaves_the_contexts(self, compiled, registered):
        seen = []

        @contextmanager
        def watch(program, args, offset_provider, enable_jit, kwargs):
            try:
                yield
            finally:
                seen.append("left")

        registered(hooks.program_call_context, watch)
        with pytest.raises(TypeError):
            scale.with_backend(compiled)(1.0, 2.0, np.zeros(3), offset_provider={})

        assert seen == ["left"]
