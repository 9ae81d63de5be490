"""Choose allocator, alignment and device once for many fields; allocators that make fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..language import Dimension, DomainLike, NamedIndex
from ..process import Device, classes
from .allocators.standard import CPUAllocator, GPUAllocator, GuardedAllocator, find_allocator
from .constructors import as_connectivity, as_field, empty, full, ones, zeros
from .field import Field
from .neighbour_table import Connectivity


class FieldMethods:
    """The constructors as methods, with the arguments that `_chosen` returns."""

    __slots__ = ()

    def _chosen(self) -> dict[str, Any]:
        return {"allocator": self}

    def empty(self, domain: DomainLike, dtype: Any = np.float64) -> Field:
        """Make a field whose values may be anything."""
        return empty(domain, dtype, **self._chosen())

    def zeros(self, domain: DomainLike, dtype: Any = np.float64) -> Field:
        """Make a field of zeros."""
        return zeros(domain, dtype, **self._chosen())

    def ones(self, domain: DomainLike, dtype: Any = np.float64) -> Field:
        """Make a field of ones."""
        return ones(domain, dtype, **self._chosen())

    def full(self, domain: DomainLike, fill_value: Any, dtype: Any = None) -> Field:
        """Make a field of one value."""
        return full(domain, fill_value, dtype, **self._chosen())

    def as_field(
        self,
        domain: DomainLike | Sequence[Dimension],
        data: Any,
        dtype: Any = None,
        *,
        origin: Mapping[Dimension, int] | None = None,
    ) -> Field:
        """Make a field that holds a copy of `data`."""
        return as_field(domain, data, dtype, origin=origin, **self._chosen())

    def as_connectivity(
        self,
        domain: DomainLike | Sequence[Dimension],
        codomain: Dimension,
        data: Any,
        dtype: Any = None,
        **options: Any,
    ) -> Connectivity:
        """Make a neighbour table of a copy of `data`."""
        return as_connectivity(domain, codomain, data, dtype, **options, **self._chosen())


@classes.frozen
class FieldConstructor(FieldMethods):
    """The constructors with an allocator, alignment and device chosen once.

    >>> import fieldforge as ff
    >>> make = FieldConstructor(allocator=ff.cpu)
    >>> make.zeros({ff.Dimension("I"): 3}, dtype="float32")
    Field(I=(0:3); float32)
    """

    allocator: Any = None
    aligned_index: Sequence[NamedIndex] | None = None
    device: Device | None = None

    def __attrs_post_init__(self) -> None:
        find_allocator(self.allocator, self.device)

    def _chosen(self) -> dict[str, Any]:
        return classes.asdict(self)


@classes.frozen
class FieldsOnCPU(FieldMethods, CPUAllocator):
    """The allocator of backends for CPUs: `backend.allocator.zeros({I: 3})` makes a field.

    >>> import fieldforge as ff
    >>> ff.cpu.allocator.zeros({ff.Dimension("I"): 3}, dtype="float32")
    Field(I=(0:3); float32)
    """


@classes.frozen
class FieldsOnGPU(FieldMethods, GPUAllocator):
    """The allocator of backends for GPUs."""


@classes.frozen
class GuardedFields(FieldMethods, GuardedAllocator):
    """The allocator of the backend for the emulated GPU."""
