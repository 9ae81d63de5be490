"""Add a field on a GPU to another one, by one kernel."""

from __future__ import annotations

import functools
import math
from typing import Any, Final

from .. import gpu
from ..fields.device_reductions import C_TYPES

BLOCK: Final = 128
_KERNEL: Final = """\
extern "C" __global__ void add_field({parameters}) {{
  long long left = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (left >= {size}) return;
{places}
  target[{target}] += source[{source}];
}}
"""


def add_on_device(target: Any, source: Any) -> None:
    """Add a field to another one with the same points, in the order of the current stream.

    >>> import fieldforge as ff
    >>> with gpu.use_platform("null"):
    ...     u, v = (ff.full({ff.Dimension("I"): 3}, each, allocator=ff.gpu) for each in (1.0, 2.0))
    ...     add_on_device(u, v)
    ...     u.asnumpy()
    array([3., 3., 3.])
    """
    arrays = [gpu.Array.from_any(field.ndarray) for field in (target, source)]
    device = arrays[0].device
    assert device is not None, "a field of a device is in its memory"
    extents = [int(extent) for extent in target.shape]
    steps = [step // array.itemsize for array in arrays for step in array.strides]
    order = tuple(sorted(range(len(extents)), key=lambda axis: abs(steps[axis])))
    if count := math.prod(extents):
        kernel = _kernel(device, target.dtype_name, order)
        kernel(target, source, *extents, *steps, grid=-(-count // BLOCK))


@functools.lru_cache(maxsize=64)
def _kernel(device: gpu.Device, dtype: str, order: tuple[int, ...]) -> Any:
    """Compile the kernel for fields of some axes once; `order` begins with the fastest one."""
    image = gpu.compile_kernels(_source(order).replace("TYPE", C_TYPES[dtype]), arch=device.arch)
    kernel = gpu.Module.load(image, device=device).kernel("add_field")
    return kernel.prepare(f"PP{'q' * (3 * len(order))}", block=BLOCK)


def _source(order: tuple[int, ...]) -> str:
    axes = range(len(order))
    names = [f"{name}{axis}" for name in ("extent", "to", "from") for axis in axes]
    places = []
    for axis in order:
        places.append(f"  const long long at{axis} = left % extent{axis};")
        places.append(f"  left /= extent{axis};")
    own, other = (
        " + ".join(f"at{axis} * {name}{axis}" for axis in axes) or "0" for name in ("to", "from")
    )
    given = ["TYPE* target", "const TYPE* source", *(f"long long {name}" for name in names)]
    return _KERNEL.format(
        parameters=", ".join(given),
        size=" * ".join(f"extent{axis}" for axis in axes) or "1",
        places="\n".join(places),
        target=own,
        source=other,
    )
