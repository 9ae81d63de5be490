"""Backends and allocators under gt4py's names are ours."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.process.errors import CompilerNotFoundError

I = ff.Dimension("I")


class TestRunners:
    def test_factories_give_our_backends(self):
        from fieldforge.program_processors.runners.dace import make_dace_backend
        from fieldforge.program_processors.runners.gtfn import GTFNBackendFactory

        assert GTFNBackendFactory(gpu=False).name == "cpu"
        assert GTFNBackendFactory(name_postfix="_mine").name == "cpu_mine"
        assert GTFNBackendFactory(name="mine").name == "mine"
        assert make_dace_backend(gpu=False, auto_optimize=True).name == "dace_cpu"
        assert isinstance(GTFNBackendFactory(), ff.Backend)

    def test_ready_made_ones_are_ours(self):
        from fieldforge.program_processors.runners import gtfn, roundtrip

        assert gtfn.run_gtfn is ff.cpu is ff.gtfn_cpu
        assert roundtrip.default is ff.reference is ff.itir_python

    def test_options_that_are_not_honoured_are_named_in_one_warning(self):
        from fieldforge.program_processors.runners.gtfn import GTFNBackendFactory

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            GTFNBackendFactory(otf_workflow__bare=1, cached=False)

        assert [str(each.message) for each in told] == [
            "'GTFNBackendFactory' does not honour 'cached', 'otf_workflow__bare' in fieldforge.",
        ]
        assert all(each.filename == __file__ for each in told)

    def test_options_that_ask_for_what_is_done_anyway_are_not(self, recwarn):
        from fieldforge.program_processors.runners.dace import make_dace_backend

        make_dace_backend(
            gpu=False, auto_optimize=True, async_sdfg_call=True, optimization_args={},
            use_metrics=True, use_zero_origin=False, external_workspace=None,
        )  # fmt: skip

        assert not recwarn.list

    def test_an_option_nobody_knows_is_refused_with_the_nearest(self):
        from fieldforge.program_processors.runners.gtfn import GTFNBackendFactory

        with pytest.raises(ff.errors.OptionError, match="Did you mean 'numerics'"):
            GTFNBackendFactory(numeric="strict")


class TestGPU:
    def backends(self):
        from fieldforge.program_processors.runners import dace, gtfn

        return (
            ff.gtfn_gpu,
            gtfn.run_gtfn_gpu,
            gtfn.GTFNBackendFactory(gpu=True, name_postfix="_mine"),
            dace.run_dace_gpu,
            dace.make_dace_backend(gpu=True),
        )

    def test_it_may_be_named_anywhere(self):
        from fieldforge.allocators import is_field_allocation_tool_for

        for backend in self.backends():

            @ff.field_operator(backend=backend)
            def same(a: ff.Field[[I], float]) -> ff.Field[[I], float]:
                return a

            @ff.program(backend=backend)
            def copied(a: ff.Field[[I], float], out: ff.Field[[I], float]):
                same(a, out=out)

            kind = backend.allocator.device_type
            assert kind in (ff.DeviceType.CUDA, ff.DeviceType.ROCM)
            assert is_field_allocation_tool_for(backend, kind)
            assert copied.backend == copied.with_backend("cpu").with_backend(backend).backend
            assert backend.options["lower.fold"] is True
            ff.zeros.partial(allocator=backend)
            ff.FieldConstructor(allocator=backend)

    @pytest.mark.parametrize("name", ["gpu", "dace_gpu"])
    def test_it_is_refused_where_it_must_build_or_allocate(self, name):
        @ff.field_operator(backend=name)
        def same(a: ff.Field[[I], float]) -> ff.Field[[I], float]:
            return a

        u = ff.ones({I: 2})
        # both compile without a GPU
        for refused in (
            lambda: same(u, out=u),
            lambda: ff.zeros({I: 2}, allocator=same),
        ):
            # without a compiler the build before the call is refused, in one sentence
            with pytest.raises(
                (ff.errors.DeviceError, CompilerNotFoundError, ff.errors.DaceNotFoundError),
                match=r"lies on device CPU:0|cannot be allocated|not installed|NVRTC was not",
            ):
                refused()


class TestAllocators:
    def test_a_backend_and_an_allocator_serve_for_allocation(self):
        from fieldforge import custom_layout_allocators as allocators

        cpu = allocators.device_allocators[ff.DeviceType.CPU]
        for tool in (cpu, ff.cpu):
            assert allocators.is_field_allocation_tool(tool)
            assert allocators.is_field_allocation_tool_for(tool, ff.DeviceType.CPU)
            assert not allocators.is_field_allocation_tool_for(tool, ff.DeviceType.CUDA)
        assert allocators.get_allocator(ff.cpu) == cpu
        assert not allocators.is_field_allocation_tool(np.zeros(3))

    def test_constructors_take_them_early_or_late(self):
        from fieldforge import constructors

        late = constructors.zeros({I: 3}, allocator=ff.cpu)
        early = constructors.zeros.partial(allocator=ff.cpu)({I: 3})

        assert late.asnumpy().tolist() == early.asnumpy().tolist() == [0.0] * 3
        assert ff.cpu.allocator.__gt_device_type__ == ff.DeviceType.CPU
