"""Annotations of GTScript: `Field[IJ, float]`, `Field[(float, (4, 2))]`, `GlobalTable[...]`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from .axes import IJK, Axis

VALID_DATA_TYPES: Final = (
    *(bool, np.bool_, int, np.int8, np.int16, np.int32, np.int64),
    *(float, np.float32, np.float64),
)
_DTYPES: Final = frozenset(map(np.dtype, VALID_DATA_TYPES))


class FieldDescriptor:
    """The type of a field: the type of its elements, its axes, the sizes of its data axes.

    `dtype` is a text until `dtypes` of `stencil` say what it stands for.

    >>> str(FieldDescriptor(float, IJK))
    'Field[[I, J, K], float64]'
    """

    def __init__(self, dtype: Any, axes: Any, data_dims: Any = ()) -> None:
        self.dtype: Any = dtype
        self.axes: Collection[Any] = axes if isinstance(axes, Collection) else [axes]
        self.data_dims: tuple[int, ...] = _sizes(data_dims)
        if not isinstance(dtype, str):
            self.dtype, self.data_dims = _element(dtype, self.data_dims)

    def __repr__(self) -> str:
        return f"Field[{_listed(self.axes)}, {self._element}]"

    @property
    def _element(self) -> str:
        return f"({self.dtype}, {self.data_dims})" if self.data_dims else str(self.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldDescriptor):
            return NotImplemented
        return (self.dtype, *self.axes, self.data_dims) == (
            (other.dtype, *other.axes, other.data_dims)
        )

    def __hash__(self) -> int:
        return hash((self.dtype, *self.axes, self.data_dims))

    def __descriptor__(self) -> None:
        """Give DaCe no descriptor: programs of DaCe take stencils as they are."""

    def at(self, *, K: Any, ddim: Any = None) -> NoReturn:  # noqa: N803  (the name of the axis)
        """Stand for the element at an absolute level, in stencils only."""
        raise RuntimeError(f"'at(K={K})' can only be used in a stencil, as an index of a field.")


class FieldMaker:
    """Makes the types of fields by `Field[...]`."""

    def __getitem__(self, spec: Any) -> FieldDescriptor:
        """Return the type for `dtype`, `axes, dtype`, or `(dtype, sizes)` in the place of dtype."""
        axes: Any = IJK
        if isinstance(spec, str) or not isinstance(spec, Sequence):
            return FieldDescriptor(spec, axes)
        if len(spec) == 2 and _are_axes(spec[0]):
            axes, spec = spec
        elif len(spec) != 2 or _are_axes(spec[1]):
            raise ValueError(f"Invalid field type descriptor: 'Field[{spec}]'.")
        if isinstance(spec, str) or not isinstance(spec, Sequence):
            return FieldDescriptor(spec, axes)
        dtype, data_dims = spec
        return FieldDescriptor(dtype, axes, data_dims)


class TableMaker:
    """Makes the types of tables without spatial axes by `GlobalTable[(dtype, sizes)]`."""

    def __getitem__(self, spec: Any) -> FieldDescriptor:
        """Return the type for an element type and the sizes of the data axes."""
        if isinstance(spec, str) or not isinstance(spec, Sequence) or len(spec) != 2:
            raise ValueError(f"GlobalTable takes a pair (dtype, sizes), got '{spec}'.")
        dtype, data_dims = spec
        return FieldDescriptor(dtype, [], data_dims)


class SequenceMaker:
    """Makes the types of sequences by `Sequence[...]`, which no stencil takes yet."""

    def __getitem__(self, dtype: Any) -> tuple[Any, None]:
        """Return the element type without a length."""
        return dtype, None


Field: Final = FieldMaker()
GlobalTable: Final = TableMaker()
Sequences: Final = SequenceMaker()


def _are_axes(spec: Any) -> bool:
    if isinstance(spec, Axis):
        return True
    is_group = isinstance(spec, Collection) and not isinstance(spec, str)
    return is_group and all(isinstance(each, Axis) for each in spec)


def _listed(axes: Collection[Any]) -> str:
    return f"[{', '.join(map(str, axes))}]"


def _sizes(given: Any) -> tuple[int, ...]:
    return tuple(given) if isinstance(given, Collection) else (given,)


def _element(dtype: Any, data_dims: tuple[int, ...]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise ValueError(f"Invalid data type descriptor: '{dtype!r}'.") from error
    if kind.shape and not data_dims:
        data_dims = kind.shape
    if kind.base not in _DTYPES:
        raise ValueError(f"Invalid data type descriptor: a field cannot hold '{dtype!r}'.")
    return kind.base, data_dims
