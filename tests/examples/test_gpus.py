"""The programs of the benchmark and the examples on GPUs: the bits of the CPU."""

import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from cases import all_cases

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

from ..placing import placed, placed_tables
from ..selection import not_optimised

SIMULATED = not_optimised(BACKENDS["gpu-host"]).with_options(on_device=True)
SMALL = {"diffusion": 0.08, "mesh": 0.004, "velocity": 0.004, "laplacians": 0.05}
MAKERS = all_cases()
SOME = ("tridiagonal", "nabla2")  # a program of columns, one of a mesh
RUNS = [
    pytest.param(name, dtype, backend, marks=mark)
    for name, dtype in itertools.product(MAKERS, ("float64", "float32"))
    for backend, mark in (
        (
            "gpu-device",
            () if dtype == "float64" and any(map(name.count, SOME)) else pytest.mark.in_full,
        ),
        ("gpu", pytest.mark.needs_gpu),
    )
]


class OnDevice:
    """What `placed` asks of a backend."""

    allocator = BACKENDS["gpu"].allocator


def size_of(name):
    return next((size for part, size in SMALL.items() if part in name), 0.1)


def on_gpu(case, backend):
    arguments = {name: placed(value, OnDevice) for name, value in case.arguments.items()}
    tables = placed_tables(case.tables, OnDevice)
    case.program.with_backend(backend)(**arguments, offset_provider=tables)
    return {name: arguments[name].asnumpy() for name in case.outputs}


@pytest.mark.needs_compiler
@pytest.mark.parametrize(("name", "dtype", "backend"), RUNS)
def test_a_gpu_gives_the_bits_of_the_cpu(backend, name, dtype):
    is_real = backend == "gpu"
    case = MAKERS[name](dtype, size_of(name))
    cpu = ff.cpu if is_real else not_optimised(ff.cpu)
    case.program.with_backend(cpu)(**case.arguments, offset_provider=case.tables)
    with nullcontext() if is_real else gpu.use_platform("null"):
        given = on_gpu(
            MAKERS[name](dtype, size_of(name)), BACKENDS["gpu"] if is_real else SIMULATED
        )

    for output, values in given.items():
        np.testing.assert_array_equal(values, case.arguments[output].asnumpy(), err_msg=output)
