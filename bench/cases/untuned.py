"""The programs of `untuned_programs/` and an example, none of which a rule was made for.

`untuned.py` times them on CPUs and GPUs beside the plain kernels of `untuned_by_hand.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import untuned_by_hand

import fieldforge as ff
import fieldforge.examples
from fieldforge.examples import icosahedral
from fieldforge.examples.icosahedral import Cell, Edge, K, Vertex

from . import icon_like
from .mesh import mesh_of, programs

# They are loaded as the examples are, in both precisions; a second checkout has no such examples.
fieldforge.examples.__path__.append(str(Path(__file__).parents[1] / "untuned_programs"))

ON_MESHES = ("momentum", "smagorinsky", "mesh_dynamics", "riemann")
FLAT = ("riemann", "cavity")  # without levels; measured if they are named
NAMES = (
    "momentum",
    "layered_water",
    "limiter",
    "smagorinsky",
    "mixing",
    "showers",
    "mesh_dynamics",
)
LEVELS = 80
ACROSS = {"cpu": 256, "gpu": 512}  # points of a grid along each side
TORUS = 384  # vertices of a mesh along each side, on a GPU
WIDTHS = {"C2E": 3, "C2E2C": 3, "E2C": 2, "E2V": 2, "V2E": 6, "V2C": 6}


@attrs.frozen(eq=False)
class Space:
    """How many points dimensions have, and tables of neighbours by the names of their offsets."""

    size: str
    points: Mapping[ff.Dimension, int] = attrs.field(factory=dict)
    tables: Mapping[str, np.ndarray] = attrs.field(factory=dict)
    across: int = 0  # of a grid


def space(name: str, place: str, scale: float, levels: int = LEVELS) -> Space:
    """Return a mesh or grid with about `scale` times the points of its full size."""
    levels = 1 if name in FLAT else levels
    if name not in ON_MESHES:
        across = max(8, round(ACROSS[place] * scale**0.5 / 8) * 8)
        return Space(f"{across}x{across}x{levels}", {K: levels}, across=across)
    if place == "gpu":
        from gpu_cases import torus

        tables = torus(max(8, round(TORUS * scale**0.5 / 8) * 8))
    else:
        tables = mesh_of(scale).tables
    counts = {Cell: len(tables["C2E"]), Edge: len(tables["E2C"]), Vertex: len(tables["V2E"])}
    return Space(f"{counts[Edge] / 1000:.3g}k edges x {levels}", counts | {K: levels}, tables)


@attrs.frozen(kw_only=True, eq=False)
class Described:
    """A program, its arguments in some memory, and what kernels by hand are told of the space."""

    name: str
    dtype: str
    space: Space
    program: Any
    arguments: Mapping[str, Any]
    tables: Mapping[str, Any]
    outputs: tuple[str, ...]
    split: tuple[Any, ...]  # programs that compute the same one after the other
    handed_on: Mapping[str, Any]  # fields between those

    @property
    def fields(self) -> dict[str, Any]:
        """The arguments that are fields."""
        return {name: each for name, each in self.arguments.items() if hasattr(each, "domain")}


def described(name: str, dtype: str, where: Space, memory: untuned_by_hand.Memory) -> Described:
    """Make the program's arguments; the same in every process that is given the same numbers."""
    module, draw = _module(name, dtype), memory.random()

    def empty(dims: tuple[ff.Dimension, ...]) -> Any:
        domain = _domain(dims, where, getattr(module, "HALO", 0))
        return ff.empty(domain, np.dtype(dtype).type, allocator=memory.allocator)

    arguments: dict[str, Any] = {}
    for key, dims in (module.FIELDS | module.OUTPUTS).items():
        arguments[key] = empty(dims)
        view, (low, high) = memory.view(arguments[key]), module.RANGES.get(key, (-1.0, 1.0))
        view[...] = draw(view.shape, dtype) * (high - low) + low
    scalars, sizes = module.SCALARS, _sizes(where)
    arguments |= {key: np.dtype(dtype).type(value) for key, value in scalars.items()}
    arguments |= {key: sizes[key] for key in wanted(module.program) if key in sizes}
    handed_on = getattr(module, "HANDED_ON", {})
    return Described(
        name=name, dtype=dtype, space=where, program=module.program, arguments=arguments,
        tables=_tables(where, memory), outputs=tuple(module.OUTPUTS),
        split=getattr(module, "SPLIT", ()),
        handed_on={key: empty(dims) for key, dims in handed_on.items()},
    )  # fmt: skip


def _module(name: str, dtype: str) -> Any:
    """Return a program in a precision, with what `untuned_programs` says beside it."""
    module = programs(name, dtype)
    if name != "mesh_dynamics":
        return module
    outputs = {key: (dim, K) for key, dim in icon_like.OUTPUTS.items()}
    return SimpleNamespace(
        program=module.dynamics, FIELDS=icon_like.FIELDS, OUTPUTS=outputs, SCALARS={"dtime": 0.5},
        RANGES={},
    )  # fmt: skip


def wanted(program: Any) -> list[str]:
    """Return the names of a program's arguments."""
    return list(inspect.signature(program.__definition__.function).parameters)


def _domain(dims: tuple[ff.Dimension, ...], where: Space, halo: int) -> dict[ff.Dimension, Any]:
    across = (-halo, where.across + halo)
    known = {**where.points, **{dim: WIDTHS[dim.value] for dim in dims if dim.value in WIDTHS}}
    return {dim: known.get(dim, across) for dim in dims}


def _sizes(where: Space) -> dict[str, int]:
    levels = where.points[K]
    if where.across:
        sizes = {"nx": where.across, "ny": where.across, "nz": levels, "last": levels - 1}
    else:
        names = {"cells": Cell, "edges": Edge, "vertices": Vertex, "levels": K}
        sizes = {name: where.points[dim] for name, dim in names.items()}
    return {name: np.int32(size) for name, size in sizes.items()}


def _tables(where: Space, memory: untuned_by_hand.Memory) -> dict[str, Any]:
    return {
        offset.value: ff.as_connectivity(
            offset.target, codomain=offset.source, data=where.tables[offset.value],
            skip_value=-1 if offset.value in ("V2E", "V2C") else None, allocator=memory.allocator,
        )
        for offset in icosahedral.OFFSETS
        if offset.value in where.tables and offset.value in WIDTHS
    }  # fmt: skip
