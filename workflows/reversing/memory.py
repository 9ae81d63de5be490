"""Memory for the adjoint of a recorded step: copies of what is overwritten, and adjoints."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from ...runtime.fields.allocation import copy_in
from ...runtime.fields.constructors import empty
from ...runtime.fields.device import Device
from ...runtime.process import classes

Kind: TypeAlias = tuple[Any, ...]


class Memory:
    """Fields for copies and adjoints; plans of one step take the same ones."""

    def __init__(self, allocator: Any) -> None:
        self._allocator = allocator
        self._made: dict[Kind, list[Any]] = {}

    @property
    def bytes(self) -> int:
        """All that was allocated."""
        fields = (field for made in self._made.values() for field in made)
        return sum(bytes_of(field) for field in fields)

    def pool(self) -> Pool:
        """Return all of it, for a plan."""
        return Pool(self, {kind: list(made) for kind, made in self._made.items()})

    def new(self, like: Any) -> Any:
        """Allocate a field like another one, which stays."""
        made = self._empty(like)
        self._made.setdefault(_kind(like), []).append(made)
        return made

    def copied(self, field: Any) -> Any:
        """Return a copy of a field for somebody else."""
        made = self._empty(field)
        copy_in(made, field.ndarray)
        return made

    def _empty(self, like: Any) -> Any:
        if self._allocator is not None:
            return empty(like.domain, like.dtype.scalar_type, allocator=self._allocator)
        device = Device(like.device_type, like.device_id)
        return empty(like.domain, like.dtype.scalar_type, device=device)


@classes.frozen(eq=False)
class Pool:
    """What of a memory is free while a plan is made."""

    memory: Memory
    free: dict[Kind, list[Any]]

    def take(self, like: Any) -> Any:
        """Take a field like another one."""
        free = self.free.get(_kind(like))
        return free.pop() if free else self.memory.new(like)

    def give(self, field: Any) -> None:
        """Give a field back."""
        self.free.setdefault(_kind(field), []).append(field)


def _kind(field: Any) -> Kind:
    return (field.domain, field.dtype_name, field.device_type, field.device_id)


def bytes_of(field: Any) -> int:
    """Return the bytes of the elements of a field."""
    return math.prod(field.shape) * np.dtype(field.dtype_name).itemsize
