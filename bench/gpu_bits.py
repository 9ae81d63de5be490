"""Whether programs have the bits of a CPU on a GPU: all cases, and large ones in both layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from cases import all_cases
from cases.case import Case

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

SMALL = {"diffusion": 0.08, "mesh": 0.004, "velocity": 0.004, "laplacians": 0.05}
IS_SIMULATED = gpu.platform() == "null"
GPU = BACKENDS["gpu-host"].with_options(on_device=True) if IS_SIMULATED else BACKENDS["gpu"]


def bits() -> Iterator[Mapping[str, Any]]:
    """Yield a row for each case; one that cannot run says why."""
    for name, make in all_cases().items():
        for dtype in ("float64", "float32"):
            row = {"case": name, "dtype": dtype}
            try:
                case = make(dtype, SMALL.get(name.partition(".")[0], 0.08))
                yield row | {"same_bits": same_bits(case)}
            except Exception as error:  # the other cases still say something
                yield row | {"refused": f"{type(error).__name__}: {str(error)[:300]}"}


def bits_in_layouts() -> Iterator[Mapping[str, Any]]:
    """Yield a row for each small case of `gpu_cases.py` in both layouts."""
    for layout, case in small_cases():
        row = {"case": case.name, "layout": layout, "dtype": case.dtype, "size": case.size}
        yield row | {"same_bits": same_bits_in_layout(case)}


def on_gpu(value: Any) -> Any:
    """Return a field or table on the device, anything else as it is."""
    if hasattr(value, "skip_value"):
        data = value.asnumpy()
        return as_connectivity(
            value.domain, codomain=value.codomain, data=data, allocator=BACKENDS["gpu"]
        )
    if isinstance(value, ff.Field):
        return ff.as_field(value.domain, value.asnumpy(), allocator=BACKENDS["gpu"])
    return value


def on_cpu(value: Any) -> Any:
    """Return an array of the host."""
    return value.asnumpy()


def place(case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments and tables of a case on the device."""
    arguments = {name: on_gpu(value) for name, value in case.arguments.items()}
    return arguments, {name: on_gpu(value) for name, value in case.tables.items()}


def same_bits(case: Case) -> bool:
    """Run a case on both, and compare every output bit by bit."""
    program: Any = case.program
    arguments, tables = place(case)
    program.with_backend(BACKENDS["cpu"])(**case.arguments, offset_provider=case.tables)
    program.with_backend(GPU)(**arguments, offset_provider=tables)
    return all(
        on_cpu(arguments[name]).tobytes() == np.array(case.arguments[name].asnumpy()).tobytes()
        or bool((on_cpu(arguments[name]) == case.arguments[name].asnumpy()).all())
        for name in case.outputs
    )


def same_bits_in_layout(case: Any) -> bool:
    """Run a case of `gpu_cases` on the GPU and, copied, on the CPU, and compare every output."""
    case.program.with_backend(GPU)(**case.arguments, offset_provider=case.tables)
    found = [case.arguments[name].asnumpy() for name in case.outputs]
    on_host = {
        name: ff.as_field(value.domain, value.asnumpy()) if isinstance(value, ff.Field) else value
        for name, value in case.arguments.items()
    }
    tables = {
        name: as_connectivity(
            table.domain, codomain=table.codomain, data=table.asnumpy(),
            skip_value=table.skip_value,
        )
        for name, table in case.tables.items()
    }  # fmt: skip
    case.program.with_backend(BACKENDS["cpu"])(**on_host, offset_provider=tables)
    wanted = [on_host[name].asnumpy() for name in case.outputs]
    return all(bool((one == other).all()) for one, other in zip(found, wanted, strict=True))


def small_cases() -> Iterator[tuple[str, Any]]:
    """Yield small cases in both layouts, with rows that no width divides."""
    import gpu_cases as made

    for dtype in ("float64", "float32"):
        for levels, layout in ((False, "horizontal contiguous"), (True, "levels contiguous")):
            for columns in (made.tridiagonal, made.vertical_advection):
                yield layout, columns(dtype, levels, (41, 9, 80))
                yield layout, columns(dtype, levels, (37, 5, 83))
            for on_mesh in (made.nabla2, made.velocity_tendency, made.dynamics):
                yield layout, on_mesh(dtype, levels, 16, 21)
