"""What kernels take, read from the log of NVRTC and the notes of AMD's code objects."""

import pytest

from fieldforge.stages.compile.kernels import usage
from fieldforge.stages.vendors.amd import AMD
from fieldforge.stages.vendors.nvidia import NVIDIA

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k0' for 'sm_90'
ptxas info    : Function properties for k0
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers{more}
ptxas info    : Compile time = 75.567 ms
"""


def source(threads: int, body: str = "") -> str:
    return f"KERNEL __launch_bounds__({threads}) k0(f64* p0, s64 n0) {{  // nest 0\n{body}}}\n"


@pytest.mark.parametrize(
    ("registers", "threads", "shared", "occupancy"),
    [
        pytest.param(32, 256, 0, 1.0, id="all threads"),
        pytest.param(33, 256, 0, 0.75, id="registers are given by eights"),
        pytest.param(255, 256, 0, 0.125, id="one block"),
        pytest.param(32, 32, 0, 0.5, id="32 blocks at most"),
        pytest.param(32, 256, 112 * 1024, 0.25, id="shared memory"),
        pytest.param(32, 256, 113 * 1024 + 1, 0.125, id="and what CUDA takes of it for each block"),
        pytest.param(32, 96, 0, 0.984, id="blocks that do not divide the threads"),
    ],
)
def test_occupancy_is_that_of_the_vendors_table(registers, threads, shared, occupancy):
    more = f", {shared} bytes smem" if shared else ""
    found = usage(NVIDIA, LOG.format(registers=registers, more=more), {}, source(threads))

    assert found["k0 sm_90"]["occupancy"] == occupancy


def test_shared_memory_is_that_of_the_module():
    log = LOG.format(registers=40, more=", 2048 bytes smem, 400 bytes cmem[0]")

    assert usage(NVIDIA, log, {})["k0 sm_90"]["shared"] == 2048


def test_shared_memory_that_a_call_decides_leaves_less():
    body = "  const ff::shared_array<f64> s0(0, n0);\n"
    other = source(256).replace("k0", "k1")
    log = LOG.format(registers=32, more="")

    plain = usage(NVIDIA, log, {}, source(256) + other + body)["k0 sm_90"]
    found = usage(NVIDIA, log, {}, source(256, body) + other)["k0 sm_90"]

    assert "occupancy_by_shared" not in plain
    assert found["occupancy"] == plain["occupancy"] == 1.0
    # For 8 blocks on a multiprocessor, then 6, 4, 3, 2 and one.
    assert [share for _, share in found["occupancy_by_shared"]] == [
        1,
        0.75,
        0.5,
        0.375,
        0.25,
        0.125,
    ]
    sizes = [size for size, _ in found["occupancy_by_shared"]]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 227 * 1024
    for size, share in found["occupancy_by_shared"]:
        fixed = usage(
            NVIDIA, LOG.format(registers=32, more=f", {size} bytes smem"), {}, source(256)
        )
        assert fixed["k0 sm_90"]["occupancy"] == share


def note(name: bytes, vgprs: bytes) -> bytes:
    return (
        b"\xde\x00\x11\xab.agpr_count\x00\xa5.args\x91\x82\xa5.name\xa1p\xa5.size\x08"
        b"\xb9.group_segment_fixed_size\xcd\x10\x00\xb8.max_flat_workgroup_size\xcd\x04\x00"
        b"\xa5.name" + name + b"\xbb.private_segment_fixed_size\xcc\x90\xab.sgpr_count!"
        b"\xb1.sgpr_spill_count\x00\xa7.symbol\xa6all.kd\xab.vgpr_count" + vgprs
        + b"\xb1.vgpr_spill_count\x02\xaf.wavefront_size@"
    )  # fmt: skip


def test_code_objects_of_amd_say_it_in_their_notes():
    long = b"a_kernel_whose_name_is_longer_than_31_letters"
    image = b"\x7fELF amdhsa.kernels\x92" + note(b"\xa2k0", b"\x1b")
    image += note(b"\xd9" + bytes([len(long)]) + long, b"\xcc\x80")

    found = usage(AMD, "", {"gfx90a": image}, source(256))

    taken = {"registers": 27, "spilled": 2, "stack": 144, "shared": 4096}
    assert found["k0 gfx90a"] == taken | {"threads": 256, "occupancy": 1.0}
    assert found[f"{long.decode()} gfx90a"] == taken | {"registers": 128}
