"""The adjoint of `fill_halo`: what cells of the halo hand back to those they are copies of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from .. import _core
from ..fields.allocation import copy_in
from ..fields.device import DeviceType
from ..fields.field import Field
from ..language import Dimension, DomainLike
from ..language.domain import domain as make_domain
from ..process.errors import ArgumentError
from .boundaries import Boundary, halo_plan, key_of_interior, read_boundaries
from .halo_transfers import NEGATE, SET, Sides, Transfer, check_sides, transfers_of
from .refusals import reject

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
