"""Memory for the adjoint of a recorded step: copies of what is overwritten, and adjoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ...runtime.fields.allocation import copy_in
from ...runtime.fields.constructors import empty
from ...runtime.fields.device import Device, DeviceType
from ...runtime.fields.field import make
from ...runtime.process import classes

Kind: TypeAlias = tuple[Any, ...]


class Memory:
    """Fields for copies and adjoints, on the devices of those that they are like.

    `make` makes one like another field.
    """

    def __init__(self, make: Callable[[Any], Any] | None = None) -> None:
        self._make = make or empty_like
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
        made = self._make(like)
        self._made.setdefault(_kind(like), []).append(made)
        return made


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
    size: int = np.dtype(field.dtype_name).itemsize
    return math.prod(map(int, field.shape)) * size


def empty_like(field: Any) -> Any:
    """Allocate a field like another one, on its device; on the host with its layout."""
    device = Device(field.device_type, field.device_id)
    found = empty(field.domain, field.dtype.scalar_type, device=device)
    if field.device_type == DeviceType.CPU and tuple(found.strides) != tuple(field.strides):
        return make(np.empty_like(field.ndarray), field.domain)
    return found


def copied(field: Any) -> Any:
    """Return a copy of a field."""
    made = empty_like(field)
    copy_in(made, field.ndarray)
    return made
