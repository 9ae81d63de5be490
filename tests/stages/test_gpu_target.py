import attrs
import pytest

from fieldforge.runtime.process.device import DeviceType
from fieldforge.runtime.process.errors import OptionError
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.machine import Machine
from fieldforge.stages.target import CpuTarget, Target


def facts(machine: Machine) -> tuple[DeviceType, int, int, bool, bool]:
    """Ask what a scheduler asks; mypy sees that both kinds of target answer."""
    return (
        machine.device,
        machine.cores,
        machine.core_memory,
        machine.has_fma,
        machine.can_stream,
    )


def test_both_kinds_of_target_answer_a_scheduler():
    cpu = CpuTarget(isa="x86-64-v3", cores=2, l2=4096)

    assert facts(cpu) == (DeviceType.CPU, 2, 4096, True, True)
    assert facts(GpuTarget("sm_90")) == (DeviceType.CUDA, 132, 228 * 1024, True, False)
    assert facts(GpuTarget("gfx90a")) == (DeviceType.ROCM, 110, 64 * 1024, True, False)


@pytest.mark.parametrize(
    ("name", "vendor", "wavefront"),
    [
        *((f"sm_{n}", "nvidia", 32) for n in (70, 75, 80, 86, 89, 90, 100, 103, 120, 121)),
        *((name, "amd", 64) for name in ("gfx908", "gfx90a", "gfx942", "gfx950")),
        *((name, "amd", 32) for name in ("gfx1030", "gfx1100", "gfx1201")),
    ],
)
def test_a_name_says_vendor_and_wavefront(name, vendor, wavefront):
    target = GpuTarget(name)

    assert (target.archs, target.vendor.name, target.wavefront) == ((name,), vendor, wavefront)
    assert target.block_memory <= target.shared_memory
    assert target.max_threads % target.wavefront == 0


def test_several_architectures_have_the_least_of_each_number():
    both = GpuTarget(["sm_90", "sm_86"])

    assert (both.shared_memory, both.max_threads) == (100 * 1024, 1536)
    assert both.registers == GpuTarget("sm_90").registers


def test_a_number_may_be_given():
    assert attrs.evolve(GpuTarget("sm_90"), l2=1).l2 == 1
    assert GpuTarget("sm_90", bandwidth=4.8e12).bandwidth == 4.8e12


def test_architectures_that_do_not_go_together_are_refused():
    with pytest.raises(OptionError, match="cannot be built for 'sm_90', 'gfx942'"):
        GpuTarget(("sm_90", "gfx942"))
    with pytest.raises(OptionError, match="cannot be built for 'gfx942', 'gfx1100'"):
        GpuTarget(("gfx942", "gfx1100"))
    with pytest.raises(OptionError, match="for no architecture"):
        GpuTarget(())


def test_an_unknown_architecture_names_the_nearest():
    with pytest.raises(OptionError, match=r"'sm_91'.\nHint: Did you mean 'sm_9?"):
        GpuTarget("sm_91")


def test_more_operations_pay_where_memory_is_slow():
    fast, slow = GpuTarget("sm_90"), GpuTarget("sm_90", bandwidth=1e12)

    assert slow.operations_per_element(8) > fast.operations_per_element(8) > 1
    consumer = GpuTarget("gfx1100")
    assert consumer.operations_per_element(4) > consumer.operations_per_element(8)


def test_the_old_name_is_the_cpu():
    assert Target is CpuTarget
