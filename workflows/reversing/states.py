"""States of a loop that were kept, in memory and in files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.fields.allocation import copy_in
from .memory import Pool
from .schedules import DISK, MEMORY, Action, Keep, Take

State = Mapping[str, Any]


class States:
    """The states that are kept, by place and number.

    Attributes:
        most: how many were in memory, and on disk, at once.

    """

    def __init__(self, pool: Pool, folder: Path | None) -> None:
        self._pool = pool
        self._in_memory: dict[int, dict[str, Any]] = {}
        self._on_disk: set[int] = set()
        self._folder = folder
        self.most: dict[str, int] = {MEMORY: 0, DISK: 0}

    def keep(self, number: int, place: str, state: State) -> None:
        """Copy a state."""
        if place == DISK:
            for name, field in state.items():
                np.save(self._file(number, name), field.asnumpy())
            self._on_disk.add(number)
        elif number not in self._in_memory:
            kept = {name: self._pool.take(field) for name, field in state.items()}
            for name, field in state.items():
                copy_in(kept[name], field.ndarray)
            self._in_memory[number] = kept
        self.most[MEMORY] = max(self.most[MEMORY], len(self._in_memory))
        self.most[DISK] = max(self.most[DISK], len(self._on_disk))

    def take(self, number: int, place: str, state: State) -> None:
        """Copy a state that was kept into fields."""
        for name, field in state.items():
            if place == DISK:
                copy_in(field, np.load(self._file(number, name)))
            else:
                copy_in(field, self._in_memory[number][name].ndarray)

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
            for field in self._in_memory.pop(number, {}).values():
                self._pool.give(field)

    def _file(self, number: int, name: str) -> Path:
        assert self._folder is not None  # schedules with files have one
        return self._folder / f"{number}_{name}.npy"


@contextmanager
def kept_states(pool: Pool, actions: tuple[Action, ...], folder: Path | None) -> Iterator[States]:
    """Yield states; their files are deleted at the end, also after an error or an interrupt."""
    places = {each.place for each in actions if isinstance(each, Keep)}
    places |= {each.target for each in actions if isinstance(each, Take)}
    if DISK not in places:
        yield States(pool, None)
        return
    with tempfile.TemporaryDirectory(prefix="fieldforge-states-", dir=folder) as made:
        yield States(pool, Path(made))
