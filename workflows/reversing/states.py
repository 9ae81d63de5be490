"""States of a loop, and memory for the adjoints of its steps.

A state that is kept in memory is not copied: its fields are held, and are free for other states
when nothing holds them any more.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ...runtime.fields import copy_in, empty, make
from ...runtime.process import Device, DeviceType, classes
from .schedules import DISK, MEMORY, Action, Keep, Take

State: TypeAlias = dict[str, Any]


@classes.frozen(eq=False)
class Room:
    """The fields of a loop for one slot of its state, which are like one of the recording.

    A step may leave points as they are: all fields have the same values there.
    """

    pool: Pool
    like: Any


class States:
    """The fields of states, and the states that are kept, by place and number.

    Attributes:
        most: how many were in memory, and on disk, at once.

    """

    def __init__(self, rooms: Mapping[str, Room], first: State, folder: Path | None) -> None:
        """Keep nothing yet; `first` are the fields of the start."""
        self._rooms, self._first, self._folder = rooms, first, folder
        self._held: dict[int, int] = {}  # how often, by the identity of fields
        self._owners: dict[int, str] = {}
        self._in_memory: dict[int, State] = {}
        self._on_disk: set[int] = set()
        self.most: dict[str, int] = {MEMORY: 0, DISK: 0}

    def room(self, name: str) -> Any:
        """Return a field for a slot of a new state."""
        room = self._rooms[name]
        field = room.pool.take(room.like)
        self._owners[id(field)] = name
        return field

    def hold(self, state: State) -> None:
        """Let the fields of a state be, until they are released as often."""
        held = self._held
        for field in state.values():
            held[id(field)] = held.get(id(field), 0) + 1

    def release(self, state: State) -> None:
        """Give the fields of a state back, apart from those that something else holds."""
        for field in state.values():
            number = id(field)
            self._held[number] -= 1
            if not self._held[number] and number in self._owners:
                self._rooms[self._owners.pop(number)].pool.give(field)

    def is_free(self, state: State) -> bool:
        """Tell whether a state is held once."""
        return all(self._held[id(field)] == 1 for field in state.values())

    def keep(self, number: int, place: str, state: State) -> None:
        """Keep a state."""
        if place == DISK:
            for name, field in state.items():
                np.save(self._file(number, name), field.asnumpy())
            self._on_disk.add(number)
        elif number not in self._in_memory:
            self.hold(state)
            self._in_memory[number] = state
        self.most[MEMORY] = max(self.most[MEMORY], len(self._in_memory))
        self.most[DISK] = max(self.most[DISK], len(self._on_disk))

    def take(self, number: int, place: str) -> State:
        """Return a state that was kept."""
        if place != DISK:
            return self._in_memory[number]
        is_start = number == 0 and not any(
            self._held.get(id(each)) for each in self._first.values()
        )
        found = self._first if is_start else {name: self.room(name) for name in self._first}
        for name, field in found.items():
            copy_in(field, np.load(self._file(number, name)))
        return found

    def place_of(self, number: int) -> str:
        """Return where a state is kept; empty if it is not."""
        if number in self._in_memory:
            return MEMORY
        return DISK if number in self._on_disk else ""

    def forget(self, number: int, place: str) -> None:
        """Give the room of a state back."""
        if place == DISK and number in self._on_disk:
            self._on_disk.remove(number)
            assert self._folder is not None  # there are files in it
            for file in self._folder.glob(f"{number}_*.npy"):
                file.unlink()
        elif place == MEMORY:
            self.release(self._in_memory.pop(number, {}))

    def _file(self, number: int, name: str) -> Path:
        assert self._folder is not None  # schedules with files have one
        return self._folder / f"{number}_{name}.npy"


@contextmanager
def folder_of(actions: tuple[Action, ...], folder: Path | None) -> Iterator[Path | None]:
    """Yield a folder if a schedule has files, which are deleted at the end, also of an error."""
    places = {each.place for each in actions if isinstance(each, Keep)}
    places |= {each.target for each in actions if isinstance(each, Take)}
    if DISK not in places:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="fieldforge-states-", dir=folder) as made:
        yield Path(made)


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
