"""Backends and allocators under gt4py's names are ours."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff

I = ff.Dimension("I")


class TestRunners:
    def test_factories_give_our_backends(self):
        from fieldforge.program_processors.runners.dace import make_dace_backend
        from fieldforge.program_processors.runners.gtfn import GTFNBackendFactory

        assert GTFNBackendFactory(gpu=False, otf_workflow__cached=True).name == "cpu"
        assert GTFNBackendFactory(name_postfix="_mine").name == "cpu_mine"
        assert make_dace_backend(gpu=False, use_zero_origin=True).name == "dace_cpu"
        assert isinstance(GTFNBackendFactory(), ff.Backend)

    def test_ready_made_ones_are_ours(self):
        from fieldforge.program_processors.runners import gtfn, roundtrip

        assert gtfn.run_gtfn is ff.cpu is ff.gtfn_cpu
        assert roundtrip.default is ff.reference is ff.itir_python

    def test_an_option_nobody_knows_is_refused_with_the_nearest(self):
        from fieldforge.program_processors.runners.gtfn import GTFNBackendFactory

        with pytest.raises(ff.errors.OptionError, match="Did you mean 'numerics'"):
            GTFNBackendFactory(numeric="strict")


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
