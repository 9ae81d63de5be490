"""Fill the cells of a field around its interior: periodic, walls, fixed values.

On the host this is a native program whose code is part of the core: recorded steps replay it. On a
device it is one kernel, see `device_halo`.

The adjoint of `fill_halo`: what cells of the halo hand back to those they are copies of.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from .. import _core
from ..fields import Field, copy_in
from ..language import Dimension, Domain, DomainLike, domain as make_domain
from ..process import ArgumentError, DeviceType
from .halo_transfers import (
    NEGATE,
    NUMBER,
    SET,
    Name,
    Sides,
    Transfer,
    check_sides,
    number_of,
    refused_boundaries,
    transfers_of,
)
from .plan import Access, Argument, Box, Code, Plan, Word
from .refusals import reject

Side: TypeAlias = Literal["even", "odd"] | float | None
Boundary: TypeAlias = Literal["periodic"] | Side | tuple[Side, Side]

_ENDS: Final = ("low", "high")


def fill_halo(field: Any, interior: Any, boundaries: Mapping[Dimension, Boundary]) -> None:
    """Fill the halo of a field in place, dimension by dimension, so that corners are filled too.

    `"periodic"` copies from the opposite side. Walls mirror the interior: `"even"` keeps the sign
    (a scalar, the velocity along a wall) and `"odd"` changes it (the velocity across a wall). A
    number is a fixed value, and None leaves a side as it is. A pair says what the lower and the
    upper side are. Along a dimension of cells the wall is the face below the first cell,
    and the one above the last. Along a staggered dimension it is the first and the last index of
    the interior: `"odd"` sets these to zero. A periodic staggered dimension has as many faces as
    cells. Recorded steps take the call down; its numbers may be slots.

    Args:
        field: a field whose array can be written; its domain contains the interior.
        interior: a range for each dimension that is filled, as `{I: (0, nx), J: (0, ny)}`.
        boundaries: what to do along each dimension, in this order.

    Raises:
        ArgumentError: a boundary has no such name, or a dimension is missing from the interior.
        DomainError: the field lacks a dimension, the interior reaches beyond it, or is smaller than
            its halo.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> u = ff.as_field({I: (-2, 5)}, [0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0])
    >>> ff.fill_halo(u, {I: (0, 3)}, {I: "periodic"})
    >>> u.asnumpy()
    array([2., 3., 1., 2., 3., 1., 2.])
    >>> ff.fill_halo(u, {I: (0, 3)}, {I: ("odd", 9.0)})
    >>> u.asnumpy()
    array([-2., -1.,  1.,  2.,  3.,  9.,  9.])
    """
    sides, numbers = read_boundaries(boundaries)
    if not isinstance(field, _core.FieldView):
        raise ArgumentError(
            f"Expected a field, got an object of type '{type(field).__name__}'.",
            hint="Make the model's state of fields, by 'as_field' or 'from_xarray'.",
        )
    if field.device_type != DeviceType.CPU:
        from .device_halo import fill_on_device  # a process without a GPU needs none of it

        fill_on_device(field, key_of_interior(interior), sides, numbers)
        _note(field, interior, boundaries)
        return
    fill = _filling(field.dims, field.dtype_name, key_of_interior(interior), sides)
    kind = fill.kind
    fill(field, *[each if type(each) is kind else number_of(kind, each) for each in numbers])


def key_of_interior(interior: Any) -> DomainLike:
    """Return the interior as a key of what was planned before; a domain takes longer to make."""
    if type(interior) is dict:
        ranges = tuple(interior.items())
        try:
            hash(ranges)
        except TypeError:  # a list is no key
            return make_domain(interior)
        return ranges
    return make_domain(interior)


def read_boundaries(boundaries: Mapping[Dimension, Boundary]) -> tuple[Sides, list[Any]]:
    """Return what is done on the sides of each dimension, and the numbers in order."""
    if type(boundaries) is not dict and not isinstance(boundaries, Mapping):
        raise refused_boundaries(boundaries)
    sides, numbers = [], []
    for dim, boundary in boundaries.items():
        names: list[Name] = []
        for side in boundary if isinstance(boundary, tuple) else (boundary, boundary):
            if side is None or isinstance(side, str):
                names.append(side)
            else:
                names.append(NUMBER)
                numbers.append(side)
        sides.append((dim, tuple(names)))
    return tuple(sides), numbers


# --- on the host -------------------------------------------------------------------------------


class _Filling(_core.Program):
    """The native program of some boundaries; it gets an entry for each domain that it meets."""

    kind: type[Any]  # what its numbers must be
    interior: Domain
    sides: Sides

    def boundaries(self, numbers: Sequence[Any]) -> tuple[Domain, dict[Dimension, Any]]:
        """Return the interior and the boundaries of a call with some numbers."""
        left = iter(numbers)
        given = {
            dim: tuple(next(left) if side is NUMBER else side for side in pair)
            for dim, pair in self.sides
        }
        return self.interior, {
            dim: pair[0] if pair == ("periodic",) * 2 else pair for dim, pair in given.items()
        }


@lru_cache(maxsize=256)
def _filling(
    dims: tuple[Dimension, ...], dtype: str, interior: DomainLike, sides: Sides
) -> _Filling:
    check_sides(sides)
    box = make_domain(interior)
    ends = [(dim, end, side) for dim, pair in sides for end, side in zip(_ENDS, pair, strict=True)]
    numbers = [f"{dim.value}_{end}" for dim, end, side in ends if side is NUMBER]
    parameters = ("field", *numbers)

    def add_entry(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        field = args[0] if args else kwargs["field"]
        plan = halo_plan(dims, dtype, field.starts, field.stops, parameters, box, sides)
        made.add(_core.Entry(plan, _core.halo_entry))

    made = _Filling("fill_halo", parameters, add_entry, reject)
    made.kind = np.dtype(dtype).type
    made.interior, made.sides = box, sides
    return made


def halo_plan(
    dims: tuple[Dimension, ...],
    dtype: str,
    starts: Sequence[int],
    stops: Sequence[int],
    parameters: tuple[str, ...],
    interior: Domain,
    sides: Sides,
    name: str = "fill_halo",
) -> Plan:
    """Write the plan of `native/halo.cpp` for fields with this domain; its name is `name`."""
    axes = range(len(dims))
    kind = np.dtype(dtype)
    transfers = list(transfers_of(dims, starts, stops, kind, interior, sides))
    start, stop = [tuple((Word(end, axis=axis),) for axis in axes) for end in ("start", "stop")]
    stride = [(Word("stride", axis=axis),) for axis in axes]
    box = Box(0, start, stop)
    ints = [
        *map(_constant, (kind.itemsize.bit_length() - 1, kind.kind == "f", len(dims))),
        *itertools.chain.from_iterable(zip(start, stop, stride, strict=True)),
        *map(_constant, (len(transfers), *itertools.chain.from_iterable(transfers))),
    ]
    return Plan(
        name,
        parameters,
        (
            Argument("field", (0,), "field", dtype, dims, read=True, written=True),
            *(Argument(each, (n,), "scalar", dtype) for n, each in enumerate(parameters[1:], 1)),
        ),
        tuple(ints),
        (Access((box,), (box,)),),
        ranges=tuple((0, axis, starts[axis], stops[axis]) for axis in axes),
    )


def _constant(value: int) -> Code:
    return (Word("const", int(value)),)


def _note(*given: Any) -> None:
    """Let a recorded step make this call in Python."""
    sequence = _core.recording()
    if sequence is not None:
        sequence.note(fill_halo, given, {})


NATIVE: Final = ("float32", "float64")


def fill_halo_adjoint(field: Any, interior: Any, boundaries: Mapping[Dimension, Boundary]) -> None:
    """Add the adjoint of a halo to the cells that `fill_halo` copies, in place; the halo gets 0.

    The arguments are those of `fill_halo`, the field is the adjoint of its field: at entry that of
    the filled field, at exit that of the field before. Numbers of boundaries do not count. Recorded
    adjoints replay it as native code; on a device it goes through the host.

    Raises:
        ArgumentError: as for `fill_halo`.
        DomainError: as for `fill_halo`.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> u_b = ff.as_field({I: (-1, 4)}, [1.0, 10.0, 20.0, 30.0, 2.0])
    >>> ff.fill_halo_adjoint(u_b, {I: (0, 3)}, {I: "periodic"})
    >>> u_b.asnumpy()
    array([ 0., 12., 20., 31.,  0.])
    """
    sides, _ = read_boundaries(boundaries)
    if not isinstance(field, Field):
        raise ArgumentError(
            f"Expected a field, got an object of type '{type(field).__name__}'.",
            hint="Make adjoints of fields, by 'zeros' or 'as_field'.",
        )
    if field.device_type == DeviceType.CPU and field.dtype_name in NATIVE:
        _giving_back(field.dims, field.dtype_name, key_of_interior(interior), sides)(field)
        return
    check_sides(sides)
    array = field.asnumpy()
    given = field.dims, field.starts, field.stops, np.dtype(field.dtype_name)
    for each in reversed(list(transfers_of(*given, make_domain(interior), sides))):
        _hand_back(array, each, field.starts)
    if field.device_type != DeviceType.CPU:  # the array is a copy
        copy_in(field, array)


@lru_cache(maxsize=256)
def _giving_back(
    dims: tuple[Dimension, ...], dtype: str, interior: DomainLike, sides: Sides
) -> _core.Program:
    """Return the native program of some boundaries, which recorded adjoints replay."""
    check_sides(sides)
    box, name = make_domain(interior), "fill_halo_adjoint"

    def add_entry(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        field = args[0] if args else kwargs["field"]
        plan = halo_plan(dims, dtype, field.starts, field.stops, ("field",), box, sides, name)
        made.add(_core.Entry(plan, _core.halo_adjoint_entry))

    made = _core.Program(name, ("field",), add_entry, reject)
    return made


def _hand_back(array: Any, transfer: Transfer, starts: Any) -> None:
    before = [slice(None)] * transfer.axis
    for i in reversed(range(transfer.depth)):
        to = (*before, transfer.to + i * transfer.to_step - starts[transfer.axis])
        if transfer.kind != SET:
            source = transfer.source + i * transfer.source_step - starts[transfer.axis]
            if transfer.kind == NEGATE:
                array[(*before, source)] -= array[to]
            else:
                array[(*before, source)] += array[to]
        array[to] = 0
