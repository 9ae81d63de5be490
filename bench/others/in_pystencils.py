"""The programs on grids in pystencils: vectors of the machine, OpenMP, non-temporal stores.

It has no columns that depend on themselves and no meshes, so that two programs are left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pystencils as ps
import sympy as sp

from .arrays import halo_of, loaded, on_lines, shape_of, upside

Ready = tuple[Callable[[], object], Callable[[], dict[str, np.ndarray]]]
Assignments = list[Any]


def _lap(u: Any, i: int, j: int) -> Any:
    return 4 * u[0, j, i] - (u[0, j, i + 1] + u[0, j, i - 1] + u[0, j + 1, i] + u[0, j - 1, i])


def _diffusion(u: Any, coeff: Any, out: Any) -> Assignments:
    names = ("l", "le", "lw", "ln", "ls", "e", "w", "n", "s")
    named = {name: ps.TypedSymbol(name, u.dtype) for name in names}
    places = {"l": (0, 0), "le": (1, 0), "lw": (-1, 0), "ln": (0, 1), "ls": (0, -1)}
    lines = [ps.Assignment(named[name], _lap(u, *at)) for name, at in places.items()]
    here = u[0, 0, 0]
    fluxes = {
        "e": (named["le"] - named["l"], u[0, 0, 1] - here),
        "w": (named["l"] - named["lw"], here - u[0, 0, -1]),
        "n": (named["ln"] - named["l"], u[0, 1, 0] - here),
        "s": (named["l"] - named["ls"], here - u[0, -1, 0]),
    }
    for name, (flux, gradient) in fluxes.items():
        kept = sp.Piecewise((0, flux * gradient > 0), (flux, True))
        lines.append(ps.Assignment(named[name], kept))
    e, w, n, s = (named[name] for name in "ewns")
    return [*lines, ps.Assignment(out[0, 0, 0], here - coeff[0, 0, 0] * (e - w + n - s))]


def _seven(u: Any, out: Any) -> Assignments:
    ends = u[0, 0, 1] + u[0, 0, -1] + u[0, 1, 0] + u[0, -1, 0] + u[1, 0, 0] + u[-1, 0, 0]
    return [ps.Assignment(out[0, 0, 0], ends - 6 * u[0, 0, 0])]


def _all_points(u: Any, out: Any) -> Assignments:
    def near(i: int) -> Any:
        return u[0, -1, i] + u[0, 1, i] + u[-1, 0, i] + u[1, 0, i]

    def far(i: int) -> Any:
        return u[-1, -1, i] + u[-1, 1, i] + u[1, -1, i] + u[1, 1, i]

    result = -128.0 / 30.0 * u[0, 0, 0]
    result += 14.0 / 30.0 * (u[0, 0, -1] + u[0, 0, 1] + near(0))
    result += 3.0 / 30.0 * (near(-1) + near(1) + far(0))
    return [ps.Assignment(out[0, 0, 0], result + 1.0 / 30.0 * (far(-1) + far(1)))]


PROGRAMS: dict[str, tuple[Callable[..., Assignments], tuple[str, ...]]] = {
    "diffusion": (_diffusion, ("u", "coeff")),
    "seven points": (_seven, ("u",)),
    "twenty seven points": (_all_points, ("u",)),
}
# A variant's name, whether stores go past the caches, whether pystencils writes vectors itself.
KINDS = (("streamed", True, True), ("vectors", False, True), ("loops", False, False))


def prepared(program: str, given: dict[str, Any]) -> dict[str, Ready]:
    """Return the calls of a program by variant, each with what gives its outputs."""
    rule, names = PROGRAMS[program]
    halo = max(halo_of(given["arguments"][name]) for name in names)
    arrays = {name: _around(given["arguments"][name], halo) for name in names}
    core = shape_of(given["arguments"]["out"])[::-1]
    arrays["out"] = on_lines(np.zeros([n + 2 * halo for n in core], given["dtype"]), halo)
    outputs = lambda: {"out-0": arrays["out"][(slice(halo, -halo),) * 3].transpose()}  # noqa: E731
    return {
        name: (
            functools.partial(_run, _compiler(rule, arrays, halo, streams, vectors), arrays),
            outputs,
        )
        for name, streams, vectors in KINDS
    }


def _run(compiler: Callable[[], Any], arrays: dict[str, np.ndarray]) -> None:
    compiler()(**arrays)


def _compiler(
    rule: Callable[..., Assignments],
    arrays: dict[str, Any],
    halo: int,
    streams: bool,
    vectors: bool,
) -> Callable[[], Any]:
    @functools.cache
    def compiled() -> Any:
        fields = [ps.Field.create_from_numpy_array(name, array) for name, array in arrays.items()]
        target = ps.Target.auto_cpu() if vectors else ps.Target.CurrentCPU
        config = ps.CreateKernelConfig(
            target=target, ghost_layers=halo, default_dtype=str(arrays["out"].dtype)
        )
        config.cpu.openmp.enable = True
        if vectors:
            config.cpu.vectorize.enable = True
            config.cpu.vectorize.assume_inner_stride_one = True
            config.cpu.vectorize.use_nontemporal_stores = streams
            config.cpu.vectorize.assume_aligned = streams
        return ps.create_kernel(rule(*fields), config).compile()

    return compiled


def _around(given: dict[str, Any], halo: int) -> np.ndarray:
    """Return a field as (k, j, i) with the halo of the widest field in all directions."""
    missing = [halo + start for _, start, _ in reversed(given["domain"])]
    return on_lines(np.pad(upside(loaded(given)), [(m, m) for m in missing]), halo)
