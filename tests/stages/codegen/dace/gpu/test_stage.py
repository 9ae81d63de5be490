"""Text of DaCe for GPUs: streams, errors, launches and options, without a GPU."""

import re
import shutil
from collections.abc import Collection
from typing import Any

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.language.operation_table import TABLE
from fieldforge.runtime.process.errors import CompilerNotFoundError
from fieldforge.runtime.process.settings import current
from fieldforge.stages import Generated, Interface, Lowered, ThreadBlock, Variant
from fieldforge.stages.codegen.dace.gpu.stage import CodegenDaceGpu
from fieldforge.stages.compile.device_library import CompileLibrary
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.lower.graph import Graph
from fieldforge.workflows.backends.backend import BACKENDS

from .....end_to_end.gpu_calls import I, J, K, sweep
from ...programs import laplacians, make_program, whole

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]

HOST = BACKENDS["dace_gpu-host"]
AMD = GpuTarget("gfx90a")
WAITS = ("Synchronize", "cudaMalloc", "hipMalloc", "cudaFree", "hipFree", "nullptr", "Memcpy")


def largest(dtype: str) -> Lowered:
    """Return the larger of two points, next to the smaller of two, and a number."""
    graph, dims = Graph(), (I, J)
    u, w = (graph.input(name, dims, dtype) for name in ("u", "w"))
    pair = [graph.map("maximum", (u, w)), graph.map("minimum", (graph.shift(u, I, 1), w))]
    top = graph.map("maximum", [graph.map("minimum", pair), graph.literal(dtype, "0")])
    fields = [(name, dtype, dims) for name in ("u", "w", "out")]
    return make_program("largest", graph, fields, [("out", whole("out", dims), top)])


SOME = {"div", "floordiv", "mod", "pow", "minimum", "maximum", "select", "fma"}


def operations_of_floats(names: Collection[str]) -> Lowered:
    """Return a program with a statement for each operation of floats that gives floats."""
    graph, dims = Graph(), (I, J)
    inputs = [graph.input(name, dims, "float64") for name in "uvw"]
    fields = [(name, "float64", dims) for name in "uvw"]
    statements = []
    for number, row in enumerate(row for row in TABLE if row.gives == "operand"):
        if "float64" in row.takes and row.name in names:
            args = inputs[: row.arity]
            if row.name == "select":
                args = [graph.map("lt", inputs[:2]), *inputs[1:]]
            name = f"out{number}"
            fields.append((name, "float64", dims))
            statements.append([(name, whole(name, dims), graph.map(row.name, args))])
    return make_program("operations_of_floats", graph, fields, *statements)


def generated(lowered: Lowered, **options: Any) -> Generated:
    results = CodegenDaceGpu(**options).run(lowered=lowered, variant=Variant())
    assert Interface.from_files(results["interface"].files()) == results["interface"]
    found = results["generated"]
    assert isinstance(found, Generated)
    return found


@pytest.fixture(scope="module")
def lowered_sweep() -> Lowered:
    a, out = (ff.zeros({I: 3, J: 4, K: 5}) for _ in range(2))
    found = sweep.with_backend(HOST).trace(a, out)["lower"].artifact
    assert isinstance(found, Lowered)
    return found


# --- text ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "vendor"), [({}, "cuda"), ({"target": AMD}, "hip")], ids=["cuda", "hip"]
)
def test_kernels_go_to_the_stream_of_the_call_and_nothing_waits(
    lowered_sweep: Lowered, options: dict[str, Any], vendor: str
) -> None:
    for lowered in (laplacians(3), lowered_sweep):
        made = generated(lowered, **options)
        assert made.language == vendor
        assert made.source.count("\n__global__ void") == made.source.count("launch(__state")
        assert f"#define gpuLaunchKernel {vendor}LaunchKernel" in made.source
        assert "{(gpuStream_t)context->stream, 0}" in made.source
        own = re.sub(r"#define .*", "", made.source)
        assert [word for word in WAITS if word in own] == []
        assert "gpu_context" not in own


def test_a_call_waits_where_that_is_asked_for() -> None:
    source = generated(laplacians(1), asynchronous=False).source
    assert "s32(gpuStreamSynchronize(state.stream))" in source


def test_strides_are_numbers_of_64_bits_in_every_signature(lowered_sweep: Lowered) -> None:
    source = generated(lowered_sweep).source
    assert re.search(r"int64_t \w+_stride", source)
    assert not re.search(r"\bint \w+_stride", source)


def test_the_listing_has_the_maps_of_the_gpu_and_names_of_the_user(lowered_sweep: Lowered) -> None:
    listing = generated(lowered_sweep).loops
    assert listing.startswith("sdfg of sweep\n")
    assert "GPU_Device" in listing
    assert "out[i_I, i_J, i_K]" in listing


# --- options -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "dim3(32, 8, 1)"),
        ({"block_2d": ThreadBlock(x=64, y=2)}, "dim3(64, 2, 1)"),
        ({"block_1d": ThreadBlock(x=64)}, "dim3(32, 8, 1)"),
        ({"launch_factor": 2}, "__launch_bounds__(512)"),
        ({"launch_bounds": 1024}, "__launch_bounds__(1024)"),
        ({"most_registers": 40}, "__maxnreg__(40)"),
        ({"blocking_dims": ("J",), "blocking_size": 5}, "i_J < (Min("),
    ],
)
def test_options_of_threads_are_in_the_text(options: dict[str, Any], text: str) -> None:
    source = generated(laplacians(1), **options).source
    assert text in source


def test_columns_of_scans_have_blocks_of_their_own(lowered_sweep: Lowered) -> None:
    source = generated(
        lowered_sweep, column_block=ThreadBlock(x=16, y=4), block_2d=ThreadBlock(x=128, y=1)
    ).source
    assert source.count("dim3(16, 4, 1)") == 2
    assert "dim3(128, 1, 1)" not in source


def test_a_thread_loops_over_its_block() -> None:
    plain, blocked = (
        generated(laplacians(1), blocking_dims=dims, blocking_size=5).source
        for dims in ((), ("J",))
    )
    assert "for (" not in plain.partition("\n__global__")[2].partition("\n}")[0]
    assert "for (" in blocked.partition("\n__global__")[2].partition("\n}")[0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("options", [{}, {"target": AMD}, {"mathematics": "library"}], ids=str)
def test_extrema_are_spelled_as_by_the_backend_gpu(dtype: str, options: dict[str, Any]) -> None:
    source = generated(largest(dtype), **options).source
    assert [
        word for word in ("assoc_barrier", "WHOLE", "larger_", "smaller_") if word in source
    ] == []
    assert source.count(" ? ") >= 4


# --- on the host ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"blocking_dims": ("J", "I")}, {"fusion": "dace"}], ids=str
)
def test_sweeps_have_the_bits_of_the_cpu(options: dict[str, Any]) -> None:
    a = ff.as_field([I, J, K], np.random.default_rng(1).random((37, 21, 9)))
    results = []
    for backend in ("cpu", HOST.with_options(**options)):
        out = ff.zeros({I: 37, J: 21, K: 9})
        sweep.with_backend(backend)(a, out)
        results.append(out.asnumpy().tobytes())
    assert results[0] == results[1]


# --- the vendor's compiler -----------------------------------------------------------


@pytest.mark.in_full
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="NVIDIA's compiler is not installed")
def test_nvcc_gives_equal_bytes_for_equal_text(lowered_sweep: Lowered) -> None:
    made = generated(lowered_sweep)
    stage = CompileLibrary(variables=current().compiler_variables)
    first, second = (stage.run(generated=made)["compiled"] for _ in range(2))
    assert first.library == second.library
    assert "nvcc" in first.text or "cuda" in first.text


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="NVIDIA's compiler is not installed")
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(SOME, id="some"),
        pytest.param({row.name for row in TABLE}, id="all", marks=pytest.mark.in_full),
    ],
)
def test_nvcc_takes_the_spelling_of_operations_of_floats(names: set[str]) -> None:
    made = generated(operations_of_floats(names))
    CompileLibrary(variables=current().compiler_variables).run(generated=made)


@pytest.mark.parametrize(("target", "name"), [(GpuTarget("sm_90"), "nvcc"), (AMD, "hipcc")])
def test_a_missing_compiler_is_one_sentence(
    target: GpuTarget, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = attrs.evolve(target.vendor.library, compiler=(f"{name}-of-nobody",))
    vendor = attrs.evolve(target.vendor, library=library)
    monkeypatch.setattr("fieldforge.stages.vendors.known.VENDORS", (vendor,))
    with pytest.raises(CompilerNotFoundError, match=f"with '{name}-of-nobody', which is not ins"):
        CompileLibrary(target=target).environment()
