"""A model names a device, or describes a backend by one: allocators and backends follow from it.

ICON4Py does so: what it is given is a device, a dict with a device, a backend or None, and it calls
gt4py's factories with what it chose for the program.
"""

from __future__ import annotations

import importlib.util

import pytest

from ..processes import python

pytestmark = [pytest.mark.needs_compiler, pytest.mark.needs_dace]

MAIN = "from fieldforge.workflows.commands.cli import main; main()"

PROGRAM = """
import functools

import gt4py.next as gtx
import gt4py.next.typing as gtx_typing
from gt4py.next import backend as gtx_backend, custom_layout_allocators as gtx_allocators
from gt4py.next import Dims, Field, float64, int32
from gt4py.next.program_processors.runners import dace as gtx_dace, gtfn
from gt4py.next.program_processors.runners.dace import transformations

CellDim = gtx.Dimension("Cell")
KDim = gtx.Dimension("K", kind=gtx.DimensionKind.VERTICAL)


@gtx.field_operator
def _scaled(a: Field[Dims[CellDim, KDim], float64], by: float64) -> Field[
    Dims[CellDim, KDim], float64
]:
    return a * by + a(KDim + 1)


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def graupel_run(
    a: Field[Dims[CellDim, KDim], float64],
    out: Field[Dims[CellDim, KDim], float64],
    by: float64,
    first: int32,
    last: int32,
    top: int32,
    bottom: int32,
):
    _scaled(a, by, out=out, domain={CellDim: (first, last), KDim: (top, bottom)})
"""

# Our words for what the model does; the names of options and functions are gt4py's.
MODEL = """
CPU, GPU = gtx.DeviceType.CPU, gtx.CUPY_DEVICE_TYPE
Like = gtx.DeviceType | gtx_typing.Backend | dict | None


def with_gtfn(device, **_):
    return gtfn.GTFNBackendFactory(gpu=device == GPU)


def with_dace(*, device, optimization_args=None, use_zero_origin=False, **_):
    return gtx_dace.make_dace_backend(
        gpu=device == GPU,
        auto_optimize=True,
        async_sdfg_call=True,
        optimization_args=optimization_args,
        unstructured_horizontal_has_unit_stride=True,
        use_metrics=True,
        use_zero_origin=use_zero_origin,
        use_max_domain_range_on_unstructured_shift=None,
    )


def get_allocator(backend):
    if isinstance(backend, gtx_backend.Backend):
        return backend
    return gtx_allocators.device_allocators[
        CPU if backend is None else backend["device"] if isinstance(backend, dict) else backend
    ]


def clean(sdfg):
    sdfg.apply_transformations_repeated(
        transformations.RemoveAccessNodeCopies(), validate=False, validate_all=False
    )


def customize_backend(program, backend):
    if backend is None or isinstance(backend, gtx_backend.Backend):
        return backend
    described = {"device": backend} if isinstance(backend, gtx.DeviceType) else dict(backend)
    factory = described.pop("backend_factory", with_dace)
    if factory is with_dace and program.__name__ == "graupel_run":
        described["optimization_args"] = {
            "fuse_tasklets": True, "gpu_maxnreg": 80, "gpu_block_size_2d": (64, 6),
            "gpu_memory_pool": False, "make_persistent": True, "scan_loop_unrolling": True,
            "scan_loop_unrolling_factor": 0,
            "optimization_hooks": {
                transformations.GT4PyAutoOptHook.TopLevelDataFlowStep: clean
            },
        }
    return factory(**described)


def setup_program(*, program, backend, constant_args, horizontal_sizes, vertical_sizes,
                  offset_provider):
    backend = customize_backend(program, backend)
    chosen = program.with_backend(backend)
    if backend is not None:
        chosen = chosen.with_compilation_options(enable_jit=False)
        sizes = {name: [each] for name, each in (horizontal_sizes | vertical_sizes).items()}
        scalars = {n: [v] for n, v in constant_args.items() if gtx.is_scalar_type(v)}
        chosen.compile(**sizes, **scalars, offset_provider=offset_provider)
    return functools.partial(
        chosen, **constant_args, **horizontal_sizes, **vertical_sizes,
        offset_provider=offset_provider,
    )


BACKENDS = {
    "embedded": None,
    "gtfn_cpu": {"backend_factory": with_gtfn, "device": CPU},
    "dace_cpu": {"backend_factory": with_dace, "device": CPU},
    "cpu": {"device": CPU},
}
"""

ITS_OWN = """
from icon4py.model.common.model_backends import BACKENDS, CPU, get_allocator, is_cpu_backend
from icon4py.model.common.model_options import customize_backend, setup_program

assert all(is_cpu_backend(BACKENDS[name]) for name in ("embedded", "gtfn_cpu", "dace_cpu", "cpu"))
"""

CALLS = """
for like in (BACKENDS["embedded"], BACKENDS["gtfn_cpu"], BACKENDS["dace_cpu"], BACKENDS["cpu"],
             CPU, gtx_dace.run_dace_cpu):
    backend = customize_backend(graupel_run, like)
    assert backend is None or backend.allocator.device_type == CPU
    allocator = get_allocator(like)
    a = gtx.full({CellDim: 4, KDim: 4}, 0.5, allocator=allocator)
    out = gtx.zeros({CellDim: 4, KDim: 3}, allocator=allocator)
    run = setup_program(
        program=graupel_run,
        backend=like,
        constant_args={"by": 3.0},
        horizontal_sizes={"first": gtx.int32(1), "last": gtx.int32(4)},
        vertical_sizes={"top": gtx.int32(0), "bottom": gtx.int32(3)},
        offset_provider={},
    )
    gtx.wait_for_compilation()
    run(a=a, out=out)
    print("embedded" if backend is None else backend.name, out.asnumpy().sum(axis=1).tolist())
"""

EXPECTED = "".join(
    f"{name} [0.0, 6.0, 6.0, 6.0]\n"
    for name in ("embedded", "cpu", "dace_cpu", "dace_cpu", "dace_cpu", "dace_cpu")
)


def run_as_gt4py(folder, *parts):
    (folder / "model.py").write_text("".join(parts))
    return python("-W", "ignore", "-c", MAIN, "run", "--as-gt4py", "model.py", cwd=folder)


def test_a_device_alone_chooses_allocator_and_backend(tmp_path):
    pytest.importorskip("dace")
    done = run_as_gt4py(tmp_path, PROGRAM, MODEL, CALLS)

    assert (done.stdout, done.stderr) == (EXPECTED, "")


@pytest.mark.skipif(
    importlib.util.find_spec("icon4py") is None, reason="ICON4Py is not installed (`make model`)"
)
def test_the_modules_of_icon4py_itself_do(tmp_path):
    done = run_as_gt4py(tmp_path, PROGRAM, ITS_OWN, CALLS)

    assert (done.stdout, done.stderr) == (EXPECTED, "")
