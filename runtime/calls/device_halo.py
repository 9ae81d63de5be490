"""Fill the halo of a field on a GPU by one kernel.

Transfers follow each other, because a corner reads what an edge has got. Here each thread has one
point that a transfer writes. It goes through all transfers from the last to the first, and so finds
the element, or the number, that the point gets in the end.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from .. import gpu
from ..fields.device_reductions import C_TYPES
from ..language import Dimension, DomainLike, domain as make_domain
from .halo_transfers import NEGATE, SET, Sides, Transfer, check_sides, number_of, transfers_of

# Axis, kind and steps of a transfer, and whether it has a number: its text depends on these alone.
Shape: TypeAlias = tuple[int, int, int, int, bool]
HaloLaunch: TypeAlias = tuple[Any, list[int], list[int], int]  # kernel, integers, numbers, blocks

BLOCK: Final = 128
_LETTERS: Final = {
    "bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
    "uint32": "I", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip
_KERNEL: Final = """\
extern "C" __global__ void fill_halo({parameters}) {{
  long long left = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  long long {places};
  do {{
{points}
    return;
  }} while (false);
  TYPE* const target = field + {offset};
  bool is_negative = false;
  long long row;
{steps}
  const TYPE value = field[{offset}];
  *target = is_negative ? -value : value;
}}
"""


def fill_on_device(field: Any, interior: DomainLike, sides: Sides, numbers: Sequence[Any]) -> None:
    """Fill the halo of a field on a GPU, in the order of the current stream."""
    array = gpu.Array.from_any(field.ndarray)
    assert array.device is not None, "a field of a device is in its memory"
    dtype = field.dtype_name
    steps = tuple(each // array.itemsize for each in array.strides)
    place = (field.dims, field.starts, field.stops, steps)
    for kernel, integers, own, blocks in _launches(array.device, dtype, place, interior, sides):
        given = [number_of(np.dtype(dtype).type, numbers[each]) for each in own]
        kernel(field, *integers, *given, grid=blocks)


@functools.lru_cache(maxsize=256)
def _launches(
    device: gpu.Device,
    dtype: str,
    place: tuple[tuple[Dimension, ...], Sequence[int], Sequence[int], tuple[int, ...]],
    interior: DomainLike,
    sides: Sides,
) -> list[HaloLaunch]:
    """Return the launches for one place in memory: one, or more if mirrors read walls."""
    check_sides(sides)
    (dims, starts, stops, steps), box = place, make_domain(interior)
    transfers = transfers_of(dims, starts, stops, np.dtype(dtype), box, sides)
    extents = [stop - start for start, stop in zip(starts, stops, strict=True)]
    made = []
    for group in _groups([_from_zero(each, starts[each.axis]) for each in transfers]):
        sizes = [math.prod([*extents[: t.axis], t.depth, *extents[t.axis + 1 :]]) for t in group]
        if not sum(sizes):
            continue
        order = tuple(sorted(range(len(dims)), key=lambda axis: abs(steps[axis])))
        shapes = tuple((t.axis, t.kind, t.to_step, t.source_step, _has_number(t)) for t in group)
        rows = [number for t in group for number in (t.depth, t.to, t.source)]
        numbers = [t.source for t in group if _has_number(t)]
        kernel = _kernel(device, dtype, order, shapes)
        made.append((kernel, [*extents, *steps, *rows], numbers, -(-sum(sizes) // BLOCK)))
    return made


def _from_zero(each: Transfer, start: int) -> Transfer:
    """Return a transfer with rows that count from the first one of the field."""
    source = each.source if each.kind == SET else each.source - start
    return each._replace(to=each.to - start, source=source)


def _has_number(each: Transfer) -> bool:
    return each.kind == SET and each.source >= 0


def _groups(transfers: Sequence[Transfer]) -> Iterator[list[Transfer]]:
    """Yield transfers that one kernel does: none writes rows that one before it reads."""
    group: list[Transfer] = []
    for each in transfers:
        if any(other.axis == each.axis and other.sources & each.targets for other in group):
            yield group
            group = []
        group.append(each)
    yield group


@functools.lru_cache(maxsize=256)
def _kernel(
    device: gpu.Device, dtype: str, order: tuple[int, ...], shapes: tuple[Shape, ...]
) -> Any:
    """Compile the kernel of some transfers once; `order` begins with the fastest axis."""
    source = _source(order, shapes).replace("TYPE", C_TYPES[dtype])
    image = gpu.compile_kernels(source, arch=device.arch)
    integers = 2 * len(order) + 3 * len(shapes)
    letters = f"P{'q' * integers}{_LETTERS[dtype] * sum(shape[-1] for shape in shapes)}"
    return gpu.Module.load(image, device=device).kernel("fill_halo").prepare(letters, block=BLOCK)


def _source(order: tuple[int, ...], shapes: tuple[Shape, ...]) -> str:
    axes = range(len(order))
    names = [f"{name}{axis}" for name in ("extent", "step") for axis in axes]
    names += [f"{name}{k}" for k in range(len(shapes)) for name in ("depth", "to", "source")]
    numbers = [f"TYPE number{k}" for k, shape in enumerate(shapes) if shape[-1]]
    points = "\n".join(_point(k, shape, order) for k, shape in enumerate(shapes))
    return _KERNEL.format(
        parameters=", ".join(["TYPE* field", *(f"long long {name}" for name in names), *numbers]),
        places=", ".join(f"at{axis} = 0" for axis in axes),
        points=points,
        offset=" + ".join(f"at{axis} * step{axis}" for axis in axes),
        steps="\n".join(_step(k, shapes[k]) for k in reversed(range(len(shapes)))),
    )


def _point(k: int, shape: Shape, order: tuple[int, ...]) -> str:
    """Return the text that finds the point of a thread of one transfer."""
    own, _, to_step, _, _ = shape
    counts = {axis: f"depth{k}" if axis == own else f"extent{axis}" for axis in order}
    size = " * ".join(counts.values())
    lines = [f"    if (left < {size}) {{"]
    for axis in order:
        lines += [f"      at{axis} = left % {counts[axis]};", f"      left /= {counts[axis]};"]
    lines += [f"      at{own} = to{k} + at{own} * {to_step};", "      break;", "    }"]
    return "\n".join([*lines, f"    left -= {size};"])


def _step(k: int, shape: Shape) -> str:
    """Return the text that goes back through one transfer, if it writes the point."""
    axis, kind, to_step, source_step, has_number = shape
    if kind == SET:
        number = f"number{k}" if has_number else "(TYPE)0"
        then = [f"*target = is_negative ? -{number} : {number};", "return;"]
    else:
        then = [f"at{axis} = source{k} + row * {source_step};"]
        then += ["is_negative = !is_negative;"] * (kind == NEGATE)
    return "\n".join(
        [
            f"  row = (at{axis} - to{k}) * {to_step};",
            f"  if (row >= 0 && row < depth{k}) {{",
            *(f"    {line}" for line in then),
            "  }",
        ]
    )
