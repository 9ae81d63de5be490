"""What a stencil object tells of its fields, scalars and domain, by gt4py's names."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np

from ...runtime.process import classes, literal_precision
from ...stages.gtscript import info as facts

SPATIAL: Final = ("I", "J", "K")
LITERAL_INT_PRECISION: Final = literal_precision("int")
LITERAL_FLOAT_PRECISION: Final = literal_precision("float")


def get_integer_type(literal_integer_precision: int) -> type[np.generic]:
    """Return the type of integer literals of a precision.

    >>> get_integer_type(32)
    <class 'numpy.int32'>
    """
    known: dict[int, type[np.generic]] = {
        each(0).itemsize * 8: each for each in (np.int8, np.int16, np.int32, np.int64)
    }
    if literal_integer_precision not in known:
        raise NotImplementedError(
            f"Integers have 8, 16, 32 or 64 bits, got {literal_integer_precision}."
        )
    return known[literal_integer_precision]


class AccessKind(enum.IntFlag):
    """How a stencil uses an argument."""

    NONE = 0
    READ = 1
    WRITE = 2
    READ_WRITE = READ | WRITE

    def __str__(self) -> str:
        return str(self.name)

    def __repr__(self) -> str:
        return f"AccessKind.{self.name}"


class Boundary(tuple[tuple[int, int], ...]):
    """For each axis the points read before the compute domain, and beyond it.

    >>> boundary = Boundary(((1, 0), (0, 2), (0, 0)))
    >>> boundary.lower_indices, boundary.upper_indices
    ((1, 0, 0), (0, 2, 0))
    """

    __slots__ = ()

    @property
    def lower_indices(self) -> tuple[int, ...]:
        """The points before the domain."""
        return tuple(low for low, _ in self)

    @property
    def upper_indices(self) -> tuple[int, ...]:
        """The points beyond the domain."""
        return tuple(high for _, high in self)

    def __repr__(self) -> str:
        return f"Boundary({super().__repr__()})"

    def __str__(self) -> str:
        return super().__repr__()


@classes.frozen(slots=False)
class FieldInfo:
    """How a stencil uses a field."""

    access: AccessKind
    boundary: Boundary
    axes: tuple[str, ...]
    data_dims: tuple[int, ...]
    dtype: np.dtype[Any]

    @cached_property
    def domain_mask(self) -> tuple[bool, ...]:
        """Which of I, J and K the field has."""
        return tuple(axis in self.axes for axis in SPATIAL)

    @cached_property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """The points read before and beyond the domain, by axis of the field."""
        by_axis = dict(zip(SPATIAL, self.boundary, strict=True))
        return tuple(by_axis[axis] for axis in self.axes)

    @cached_property
    def domain_ndim(self) -> int:
        """The number of spatial axes."""
        return len(self.axes)

    @cached_property
    def mask(self) -> tuple[bool, ...]:
        """Which of I, J and K the field has, and True for each data axis."""
        return (*self.domain_mask, *(True for _ in self.data_dims))

    @cached_property
    def ndim(self) -> int:
        """The number of axes of an array."""
        return len(self.axes) + len(self.data_dims)


@classes.frozen
class ParameterInfo:
    """How a stencil uses a scalar."""

    access: AccessKind
    dtype: np.dtype[Any]


@classes.frozen
class DomainInfo:
    """The axes of the compute domain, and the fewest levels that it may have."""

    parallel_axes: tuple[str, ...]
    sequential_axis: str
    min_sequential_axis_size: int
    ndim: int


@classes.frozen
class StencilID:
    """The name of a stencil, and the digest of what determines it."""

    qualified_name: str
    version: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.qualified_name, self.version))


@classes.define
class BuildOptions:
    """The options that `stencil` is called with."""

    name: str
    module: str
    format_source: bool = True
    backend_opts: dict[str, Any] = classes.field(factory=dict)
    build_info: dict[str, Any] | None = None
    rebuild: bool = False
    raise_if_not_cached: bool = False
    cache_settings: dict[str, Any] = classes.field(factory=dict)
    impl_opts: dict[str, Any] = classes.field(factory=dict)
    literal_int_precision: int = LITERAL_INT_PRECISION
    literal_float_precision: int = LITERAL_FLOAT_PRECISION

    @property
    def _impl_opts(self) -> dict[str, Any]:
        return self.impl_opts

    @property
    def qualified_name(self) -> str:
        """The module and the name."""
        return f"{self.module}.{self.name}"

    def as_dict(self) -> dict[str, Any]:
        """Return the options by name; those that begin with an underscore as '_impl_opts'."""
        found = {each.name: getattr(self, each.name) for each in classes.fields(type(self))}
        found["_impl_opts"] = found.pop("impl_opts")
        return found


def field_infos(info: facts.StencilInfo) -> dict[str, FieldInfo]:
    """Return what a stencil tells of its fields."""
    return {
        name: FieldInfo(
            AccessKind(each.access),
            Boundary(each.boundary),
            each.axes,
            each.data_dims,
            np.dtype(each.dtype),
        )
        for name, each in info.fields
    }


def parameter_infos(info: facts.StencilInfo) -> dict[str, ParameterInfo]:
    """Return what a stencil tells of its scalars."""
    return {
        name: ParameterInfo(AccessKind(each.access), np.dtype(each.dtype))
        for name, each in info.parameters
    }


def domain_info(info: facts.StencilInfo) -> DomainInfo:
    """Return what a stencil tells of its domain."""
    own = info.domain
    return DomainInfo(
        own.parallel_axes, own.sequential_axis, own.min_sequential_axis_size, own.ndim
    )


def constants(info: facts.StencilInfo) -> Mapping[str, Any]:
    """Return the externals of a stencil that are numbers."""
    return {name: _number(each.dtype, each.text) for name, each in info.constants}


def _number(dtype: str, text: str) -> Any:
    if dtype == "bool":
        return text == "True"
    if dtype in ("int", "float"):
        return {"int": int, "float": float}[dtype](text)
    return np.dtype(dtype).type(text)
