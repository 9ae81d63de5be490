"""Files to restart from: the state in global order, so that the number of ranks may change."""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import numpy as np

from ..mesh_geometry import Numbers


@attrs.frozen(kw_only=True, eq=False)
class SavedState:
    """A state in global order: `h` (cells,) and `u` (edges,), and the case that it belongs to."""

    name: str
    level: int
    days: float
    h: Numbers
    u: Numbers


def save(state: SavedState, path: Path) -> None:
    """Write a state; the file appears whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("wb") as file:
        np.savez(file, **attrs.asdict(state, recurse=False))
    beside.replace(path)


def load(path: Path, name: str, level: int) -> SavedState:
    """Read a state; one of another case or level is a ValueError."""
    with np.load(path) as file:
        state = SavedState(
            name=str(file["name"]),
            level=int(file["level"]),
            days=float(file["days"]),
            h=file["h"],
            u=file["u"],
        )
    if (state.name, state.level) != (name, level):
        raise ValueError(
            f"Expected a state of case {name} at level {level}, "
            f"'{path}' has one of case {state.name} at level {state.level}."
        )
    return state
