"""Stencils on a real GPU, and some of the same tests on the emulated one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import storage
from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import (
    BACKWARD,
    FORWARD,
    IJ,
    PARALLEL,
    Field,
    computation,
    interval,
)
from fieldforge.stages.gtscript.axes import dims_of
from fieldforge.stages.interpret.stage import Entry
from fieldforge.storage.cartesian.utils import cpu_copy

from ..stages.gtscript.cases import arrays_of, difference, run
from ..stages.gtscript.models import EXAMPLES
from ..stages.gtscript.stencils import define

HOST = pytest.param("gpu-host", marks=pytest.mark.needs_compiler)
GPU = pytest.param("gpu", marks=pytest.mark.needs_gpu)
FEW = ("vertical advection", "offsets by axis", "elements of fields", "tables")


def column_sums(a: Field[float], b: Field[float], s: Field[IJ, float]):
    with computation(FORWARD):
        with interval(0, 1):
            s = a
            b = a
        with interval(1, None):
            s = s + a
            b = 0.5 * b[0, 0, -1] + a
    with computation(BACKWARD), interval(0, -1):
        b = b + 0.25 * b[0, 0, 1]


def slope(a: Field[float], b: Field[float], w: float):
    with computation(PARALLEL), interval(...):
        b = w * (a[1, 0, 0] - a[-1, 0, 0])


def on_device(
    array: Any, axes: tuple[str, ...], origin: tuple[int, ...], allocator: Any = None
) -> Any:
    """Return an array as a field whose index 0 is at the origin."""
    dims = dims_of("".join(axes))
    return ff.as_field(
        dims, array, origin=dict(zip(dims, origin, strict=True)), allocator=allocator
    )


def called(case: Mapping[str, Any], backend: str) -> dict[str, Any]:
    """Call the stencil of a case on the device; return the fields after the call."""
    names = define(case["text"])
    options = {"externals": names.get("EXTERNALS"), "dtypes": names.get("DTYPES")}
    stencil = gtscript.stencil(backend, names["s"], numerics="strict", **options)
    allocator = ff.gpu if backend == "gpu" else None
    given, origin = {}, {}
    for name, array in arrays_of(dict(case)).items():
        axes = stencil.field_info[name].axes
        if len(axes) == array.ndim:
            given[name] = on_device(array, axes, case["origin"][name], allocator)
        else:  # data axes belong to arrays
            given[name] = storage.from_array(array, array.dtype, backend=backend)
            origin[name] = case["origin"][name]
    numbers = {
        name: stencil.parameter_info[name].dtype.type(value)
        for name, (_, value) in case["scalars"].items()
    }
    options = {"origin": origin} if origin else {}
    stencil(**given, **numbers, **options, domain=tuple(case["domain"]), validate_args=False)
    return {
        name: cpu_copy(each) if name in origin else each.asnumpy() for name, each in given.items()
    }


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        *(pytest.param(name, "gpu", marks=pytest.mark.needs_gpu) for name in EXAMPLES),
        *(pytest.param(name, "gpu-host", marks=pytest.mark.needs_compiler) for name in FEW),
    ],
)
def test_a_gpu_gives_the_numbers_of_the_interpreter(name, backend):
    """Mathematics may err by some units in the last place, and what is made of it by more.

    Nothing is contracted: where products cancel out, that would show.
    """
    _, meant = run(EXAMPLES[name], lambda made, arguments: Entry(made.lowered)(*arguments))

    given = called(EXAMPLES[name], backend)

    for field in meant:
        assert difference(meant[field], given[field], 64) == "", field


@pytest.mark.parametrize("backend", [HOST, GPU])
@pytest.mark.parametrize("shape", [(1, 1, 2), (37, 5, 4), (64, 33, 80)])
def test_sweeps_of_many_columns(shape, backend):
    a = np.random.default_rng(2).random(shape)
    kinds = {"a": a, "b": np.zeros(shape), "s": np.zeros(shape[:2])}
    meant = {name: array.copy() for name, array in kinds.items()}
    gtscript.stencil("numpy", column_sums)(**meant)
    stencil = gtscript.stencil(backend, column_sums)
    allocator = ff.gpu if backend == "gpu" else None
    given = {
        name: on_device(array, stencil.field_info[name].axes, (0,) * array.ndim, allocator)
        for name, array in kinds.items()
    }

    stencil(**given)

    for name, each in given.items():
        np.testing.assert_allclose(each.asnumpy(), meant[name], rtol=1e-14)


@pytest.mark.needs_gpu
@pytest.mark.parametrize("name", ["gt:gpu", "dace:gpu", "dace:gpu_IJK"])
def test_storages_on_a_gpu_are_arguments(name):
    cupy = pytest.importorskip("cupy")
    values = np.arange(60.0).reshape(5, 3, 4) ** 2
    a = storage.from_array(values, backend=name, aligned_index=(1, 0, 0))
    b = storage.zeros((5, 3, 4), backend=name, aligned_index=(1, 0, 0))

    gtscript.stencil(name, slope)(a, b, 2.0, origin=(1, 0, 0), domain=(3, 3, 4))

    assert isinstance(b, cupy.ndarray)
    assert a[1, 0, 0].data.ptr % 64 == 0
    found = cpu_copy(b)
    assert found[1:4].tolist() == (2.0 * (values[2:] - values[:-2])).tolist()
    assert not found[0].any()


@pytest.mark.needs_gpu
def test_a_call_waits_for_the_gpu_unless_it_is_told_not_to():
    cupy = pytest.importorskip("cupy")
    a, b = cupy.ones((5, 3, 4)), cupy.ones((5, 3, 4))
    waiting = gtscript.stencil("gt:gpu", slope)
    free = gtscript.stencil("gt:gpu", slope, device_sync=False)

    waiting(a, b, 2.0, origin=(1, 0, 0))
    free(a, b, 2.0, origin=(1, 0, 0))
    cupy.cuda.Device().synchronize()

    assert not b.get()[1:4].any()


@pytest.mark.parametrize("backend", [HOST, GPU])
def test_a_recorded_step_runs_on_a_gpu(backend):
    values = np.random.default_rng(4).random((6, 4, 3))
    allocator = ff.gpu if backend == "gpu" else None
    a, b, c = (
        on_device(each, ("I", "J", "K"), (1, 0, 0), allocator)
        for each in (values, 0.0 * values, 0.0 * values)
    )
    stencil = gtscript.stencil(backend, slope)
    with ff.record() as step:
        stencil(a, b, 2.0, domain=(4, 4, 3))
        stencil(b, c, 1.0, domain=(4, 4, 3))
    first = c.asnumpy().copy()

    step()

    b_meant = 0.0 * values
    b_meant[1:5] = 2.0 * (values[2:] - values[:-2])
    c_meant = 0.0 * values
    c_meant[1:5] = b_meant[2:] - b_meant[:-2]
    np.testing.assert_allclose(first, c_meant, rtol=1e-14)
    np.testing.assert_allclose(c.asnumpy(), c_meant, rtol=1e-14)
