"""Names and signatures that programs written for gt4py use, and what they do."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.experimental import as_offset
from fieldforge.instrumentation import hooks, metrics

from ..dimensions import I, K, Koff, Line


@ff.field_operator(backend=None)
def doubled(a: Line) -> Line:
    return a * 2.0


@ff.program(backend="reference")
def double(a: Line, out: Line):
    doubled(a, out=out)


def call(program=double):
    out = ff.zeros({I: 2})
    program(ff.ones({I: 2}), out)
    return out


class Pair(NamedTuple):
    a: float
    b: tuple[float, float]


class TestTrees:
    def test_functions_are_mapped_over_named_collections(self):
        from fieldforge.named_collections import tree_map_named_collection

        found = tree_map_named_collection(lambda x, y: x + y)(Pair(1, (2, 3)), Pair(4, (5, 6)))

        assert found == Pair(5, (7, 9))
        assert isinstance(found, Pair)
        assert tree_map_named_collection(abs)(-3) == 3

    def test_tree_map_takes_the_options_of_gt4py(self):
        from fieldforge.utils import tree_map

        assert tree_map(lambda x: x + 1)(((1, 2), 3)) == ((2, 3), 4)
        assert tree_map(collection_type=list)(lambda x, y: x * y)([[1], 2], [[3], 4]) == [[3], 8]
        assert tree_map(unpack=True)(lambda x: (x, -x))((1, (2,))) == ((1, (2,)), (-1, (-2,)))
        assert tree_map(with_path_arg=True)(lambda x, path: path)((7, (8,))) == ((0,), ((1, 0),))
        swap = tree_map(
            collection_type=(list, tuple),
            result_collection_constructor=lambda old, new: tuple(new) if list is type(old) else new,
        )
        assert swap(lambda x: x)([(1, 2), 3]) == ([1, 2], 3)

    def test_trees_of_different_structure_are_refused(self):
        from fieldforge.utils import tree_map

        with pytest.raises(TypeError, match="same structure"):
            tree_map(lambda x, y: x)((1, 2), (1, 2, 3))
        with pytest.raises(TypeError, match="result_collection_constructor"):
            tree_map(collection_type=(list, tuple))


class TestAllocators:
    def test_the_standard_allocators_are_there(self):
        from fieldforge import custom_layout_allocators as allocators

        cpu = allocators.StandardCPUFieldBufferAllocator()
        gpu = allocators.StandardGPUFieldBufferAllocator()

        assert isinstance(cpu, allocators.FieldBufferAllocatorProtocol)
        assert (cpu.device_type, ff.cpu.allocator.device_type) == (ff.DeviceType.CPU,) * 2
        assert gpu.device_type in (ff.DeviceType.CUDA, ff.DeviceType.ROCM)
        assert ff.zeros({I: 2}, allocator=cpu).asnumpy().tolist() == [0.0, 0.0]
        with pytest.raises(ff.errors.DeviceError, match="cannot be allocated on 'CUDA:0'"):
            ff.zeros({I: 2}, allocator=gpu)


class TestMetrics:
    @pytest.fixture(autouse=True)
    def clean(self, monkeypatch):
        monkeypatch.setattr(metrics, "sources", {})

    def test_sources_may_be_replaced(self, monkeypatch):
        mine: dict[str, metrics.Source] = {}
        monkeypatch.setattr(metrics, "sources", mine)
        monkeypatch.setattr(ff.config, "COLLECT_METRICS_LEVEL", metrics.MINIMAL)

        call()

        [key] = mine
        assert key.startswith("double<'reference'")
        assert len(mine[key].metrics["total"].samples) == 1
        assert key in metrics.dumps()

    def test_metrics_have_names(self):
        found = metrics.MetricsCollection()
        found["compute"].add_sample(2.0)

        assert found["compute"].name == "compute"
        assert metrics.Metric(name="total", samples=[1.0]).mean == 1.0
        assert math.isnan(metrics.Metric(name="total").mean)

    def test_collectors_are_classes_that_may_be_derived_from(self, monkeypatch):
        class Steps(
            metrics.BaseMetricsCollector,
            level=metrics.MINIMAL,
            metric_name="steps",
            collect_enter_counter=lambda: 3,
            collect_exit_counter=lambda: 5,
        ):
            pass

        monkeypatch.setattr(ff.config, "COLLECT_METRICS_LEVEL", metrics.MINIMAL)
        with Steps(key="mine"):
            pass

        assert metrics.sources["mine"].metrics["steps"].samples == [2]
        assert not metrics.is_current_source_key_set()
        made = metrics.make_collector(metrics.INFO, "copies")
        assert issubclass(made, metrics.BaseMetricsCollector)
        assert (made.level, made.metric_name) == (metrics.INFO, "copies")

    def test_they_are_dumped_at_exit_by_a_name_of_gt4py(self, monkeypatch, tmp_path):
        monkeypatch.setattr(ff.config, "DUMP_METRICS_AT_EXIT", str(tmp_path / "found.json"))
        metrics.sources["p"] = metrics.Source(metadata={"name": "p"})

        metrics._dump_metrics_at_exit()

        assert '"p"' in (tmp_path / "found.json").read_text()

    def test_programs_show_what_was_compiled_and_let_nobody_change_it(self):
        program = double.with_backend("reference")
        before = len(program._compiled_programs.compiled_programs)
        call(program)
        found = program._compiled_programs.compiled_programs

        assert (before, len(found)) == (0, 1)
        assert all(map(callable, found.values()))
        with pytest.raises(TypeError):
            found["x"] = 1


@contextmanager
def registered(hook, callback):
    hook.register(callback)
    try:
        yield
    finally:
        hook.remove(callback)


class TestHooks:
    def test_a_call_without_provider_has_an_empty_one_and_may_compile(self):
        seen = []

        @contextmanager
        def around(program, args, offset_provider, enable_jit, kwargs):
            seen.append((program.__name__, len(args), offset_provider, enable_jit, kwargs))
            yield

        with registered(hooks.program_call_context, around):
            call()
            call(double.with_compilation_options(enable_jit=True))

        assert seen == [("double", 2, {}, True, {})] * 2

    def test_other_parameters_are_refused(self):
        with pytest.raises(ValueError, match="program_pool, key, args, kwargs, offset_provider"):
            hooks.compiled_program_call_context.register(lambda compiled, args: None)

    def test_the_profiler_of_gpus_may_be_used_anywhere(self):
        from fieldforge.instrumentation import gpu_profiler

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with gpu_profiler.profile_calls(), gpu_profiler.time_range("a step"):
                assert gpu_profiler.is_profiling_calls()
                assert not gpu_profiler.start_profiling_calls()
                call()
                assert not gpu_profiler.stop_profiling_calls()

        assert not gpu_profiler.is_profiling_calls()
        assert not gpu_profiler.stop_profiling_calls()
        assert all("CuPy" in str(each.message) or "nested" in str(each.message) for each in told)


class TestTypes:
    def test_types_have_kinds(self):
        from fieldforge._core.definitions import DType
        from fieldforge.type_system import type_specifications as ts

        assert ts.ScalarType("float32").kind is ts.ScalarKind.FLOAT32
        assert DType[ff.float64] is DType

    def test_eve_has_what_models_use(self):
        from fieldforge import eve
        from fieldforge.eve.utils import FrozenNamespace

        class Level(eve.IntEnum):
            LOW = 1

        assert Level.LOW == 1
        assert FrozenNamespace(a=1).a == 1
        assert FrozenNamespace is ff.FrozenNamespace


class TestErrors:
    def test_the_modules_of_exceptions_are_there(self):
        from fieldforge.embedded import exceptions as embedded
        from fieldforge.errors import exceptions

        assert exceptions.DSLError is ff.errors.DSLError
        assert exceptions.GT4PyError is ff.errors.GT4PyError
        assert embedded.IndexOutOfBounds is ff.errors.IndexOutOfBounds

    @pytest.mark.parametrize("backend", [None, "reference", "cpu"])
    @pytest.mark.parametrize(
        ("arguments", "kind"),
        [
            ((1.0, ff.zeros({I: 2})), TypeError),
            ((ff.ones({I: 1}), ff.zeros({I: 2})), ValueError),
            ((ff.ones({I: 2}, dtype=ff.float32), ff.zeros({K: 2})), TypeError),
        ],
    )
    @pytest.mark.needs_compiler
    def test_a_wrong_argument_is_an_error_of_the_language_too(self, backend, arguments, kind):
        with pytest.raises(ff.errors.DSLError) as caught:
            double.with_backend(backend)(*arguments)

        assert isinstance(caught.value, kind)
        assert caught.value.location is None

    def test_an_operator_without_out_and_a_bad_static_value_are_type_errors(self):
        with pytest.raises(TypeError, match="out"):
            doubled(ff.ones({I: 2}))
        with pytest.raises(TypeError, match="static"):
            double.with_static_params("nothing")

    def test_to_compile_an_embedded_program_is_a_runtime_error(self):
        with pytest.raises(RuntimeError, match="nothing to compile") as caught:
            double.with_backend(None).compile(offset_provider={})

        assert isinstance(caught.value, ff.errors.OptionError)


class TestPremap:
    def test_fields_are_read_at_displaced_levels(self):
        f = ff.as_field([I, K], np.arange(12.0).reshape(3, 4))
        by = ff.as_field([I, K], np.array([[1, 1, 1, 0]] * 3, np.int32))

        found = f.premap(as_offset(Koff, by))

        assert found.domain == f.domain
        assert found.asnumpy()[0].tolist() == [1.0, 2.0, 3.0, 3.0]

    def test_what_lies_outside_is_left_out(self):
        f = ff.as_field([I, K], np.arange(8.0).reshape(2, 4), origin={K: 2})
        by = ff.as_field([K], np.array([-1, 2, 2, 1], np.int32), origin={K: 2})

        found = f(as_offset(Koff, by))

        assert found.domain == ff.domain({I: 2, K: (-1, 0)})
        assert found.asnumpy().tolist() == [[3.0], [7.0]]

    def test_a_domain_with_holes_is_refused(self):
        f = ff.as_field([K], np.arange(4.0))
        by = ff.as_field([K], np.array([2, 9, 0, 0], np.int32))

        with pytest.raises(ff.errors.NonContiguousDomain):
            f.premap(as_offset(Koff, by))
        with pytest.raises(ff.errors.ArgumentError, match="only map"):
            f.premap(as_offset(Koff, by), K + 1)
