"""The programs of `gpu_cases.py` in CuPy arrays and in JAX under `jit`, on the same numbers.

Written as a user of each would: whole arrays, `lax.scan` for sweeps, index arrays for tables.
JAX gets contiguous arrays in the order of the layout that is measured, on meshes levels only.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fieldforge.examples.vertical_advection import NEW, OLD

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the card is shared with ours
ROUNDS, CALLS = 8, 5
NEAR = {"float64": 1e-9, "float32": 1e-2}  # of the largest number: peers may contract and reorder
SWITCHED = 1e-6  # of all points may be far off, where a rounded comparison falls the other way


def peers(case: Any, levels: bool) -> Iterator[tuple[str, float]]:
    """Yield the seconds of a call by each peer that has the program; each must find our numbers."""
    written = PROGRAMS.get(case.name)
    if written is None:
        return
    make, *outputs = written
    for name, of in (("CuPy", _cupy), ("JAX", _jax)):
        is_foreign = name == "JAX" and case.tables and not levels
        if is_foreign or importlib.util.find_spec(name.lower()) is None:
            continue
        call, wait, numbers = of(make, case, levels)
        found = call()
        for one, theirs in zip(outputs, found if len(outputs) > 1 else [found], strict=True):
            ours = case.arguments[one].asnumpy()
            is_far = np.abs(numbers(theirs) - ours) > NEAR[case.dtype] * np.abs(ours).max()
            assert is_far.mean() <= SWITCHED, (name, one)
        yield name, _seconds(call, wait)


def _seconds(call: Callable[[], Any], wait: Callable[[Any], None]) -> float:
    """Return the least time of a call, of several that follow each other."""
    wait(call())
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            last = call()
        wait(last)
        found.append((time.perf_counter() - began) / CALLS)
    return min(found)


def _arrays(case: Any, levels: bool) -> dict[str, Any]:
    """Return the fields as arrays of CuPy: the levels first, unless they are contiguous."""
    found = {}
    for name, value in case.arguments.items():
        view = getattr(value, "ndarray", None)
        if view is None:
            found[name] = value
        else:
            found[name] = view if levels or case.tables else view.transpose(2, 1, 0)
    tables = {name: table.ndarray for name, table in case.tables.items()}
    return found | tables


def _cupy(make: Any, case: Any, levels: bool) -> tuple[Any, Any, Any]:
    import cupy

    program = make(cupy, None, levels)
    given = _arrays(case, levels)

    def call() -> Any:
        return program(**given)

    def back(found: Any) -> Any:
        return cupy.asnumpy(found if levels or case.tables else found.transpose(2, 1, 0))

    return call, lambda _: cupy.cuda.Device().synchronize(), back


def _jax(make: Any, case: Any, levels: bool) -> tuple[Any, Any, Any]:
    import cupy
    import jax

    jax.config.update("jax_enable_x64", True)
    program = jax.jit(make(jax.numpy, jax.lax, levels))
    given = {
        name: jax.dlpack.from_dlpack(cupy.array(value, order="C", copy=True))
        if hasattr(value, "shape") and value.shape
        else value
        for name, value in _arrays(case, levels).items()
    }

    def call() -> Any:
        return program(**given)

    def back(found: Any) -> Any:
        numbers = np.asarray(found)
        return numbers if levels or case.tables else numbers.transpose(2, 1, 0)

    return call, jax.block_until_ready, back


# --- the programs -------------------------------------------------------------------------------


def _diffusion(xp: Any, lax: Any, levels: bool) -> Any:
    def limited(flux: Any, rise: Any) -> Any:
        return xp.where(flux * rise > 0, xp.zeros_like(flux), flux)

    def program(u: Any, coeff: Any, out: Any) -> Any:
        h = (u.shape[1] - coeff.shape[1]) // 2 - 2
        u = u[:, h : u.shape[1] - h, h : u.shape[2] - h]
        inner = u[:, 1:-1, 1:-1]
        lap = 4 * inner - (u[:, 1:-1, 2:] + u[:, 1:-1, :-2] + u[:, 2:, 1:-1] + u[:, :-2, 1:-1])
        east = limited(
            lap[:, 1:-1, 1:] - lap[:, 1:-1, :-1], inner[:, 1:-1, 1:] - inner[:, 1:-1, :-1]
        )
        north = limited(
            lap[:, 1:, 1:-1] - lap[:, :-1, 1:-1], inner[:, 1:, 1:-1] - inner[:, :-1, 1:-1]
        )
        change = east[:, :, 1:] - east[:, :, :-1] + north[:, 1:] - north[:, :-1]
        return u[:, 2:-2, 2:-2] - coeff * change

    return program


def _solved(xp: Any, lax: Any, levels: bool, system: Any) -> Any:
    """Solve a tridiagonal system along the levels."""
    axis = -1 if levels else 0
    a, b, c, d = (xp.moveaxis(each, axis, 0) for each in system)
    zero = xp.zeros_like(a[0])
    if lax is not None:

        def down(above: Any, row: Any) -> Any:
            a, b, c, d = row
            pivot = b - a * above[0]
            made = c / pivot, (d - a * above[1]) / pivot
            return made, made

        def up(below: Any, row: Any) -> Any:
            found = row[1] - row[0] * below
            return found, found

        _, (cp, dp) = lax.scan(down, (zero, zero), (a, b, c, d))
        _, x = lax.scan(up, zero, (cp, dp), reverse=True)
        return xp.moveaxis(x, 0, axis)
    cp, dp = xp.empty_like(a), xp.empty_like(a)
    above = zero, zero
    for k in range(a.shape[0]):
        pivot = b[k] - a[k] * above[0]
        cp[k], dp[k] = c[k] / pivot, (d[k] - a[k] * above[1]) / pivot
        above = cp[k], dp[k]
    for k in range(a.shape[0] - 2, -1, -1):
        dp[k] -= cp[k] * dp[k + 1]
    return xp.moveaxis(dp, 0, axis)


def _tridiagonal(xp: Any, lax: Any, levels: bool) -> Any:
    def program(a: Any, b: Any, c: Any, d: Any, x: Any) -> Any:
        return _solved(xp, lax, levels, (a, b, c, d))

    return program


def _advection(xp: Any, lax: Any, levels: bool) -> Any:
    k_axis, i_axis = (2, 0) if levels else (0, 2)

    def cut(x: Any, axis: int, first: int | None, last: int | None) -> Any:
        places = [slice(None)] * 3
        places[axis] = slice(first, last)
        return x[tuple(places)]

    def program(
        u: Any, u_before: Any, w: Any, tendency: Any, new_tendency: Any, per_step: Any, last: Any
    ) -> Any:
        wind = u.dtype.type(0.25) * (cut(w, i_axis, 1, None) + cut(w, i_axis, None, -1))
        between = cut(wind, k_axis, 1, -1)  # on the faces between two levels
        none = xp.zeros_like(cut(u, k_axis, 0, 1))
        up = xp.concatenate([none, between], axis=k_axis)
        down = xp.concatenate([between, none], axis=k_axis)
        flux = between * (cut(u, k_axis, 1, None) - cut(u, k_axis, None, -1))
        fluxes = xp.concatenate([none, flux], axis=k_axis) + xp.concatenate(
            [flux, none], axis=k_axis
        )
        new, old = u.dtype.type(NEW), u.dtype.type(OLD)
        a, c = -new * up, new * down
        d = per_step * u_before + tendency - old * fluxes
        return per_step * (_solved(xp, lax, levels, (a, per_step - a - c, c, d)) - u_before)

    return program


def _nabla2(xp: Any, lax: Any, levels: bool) -> Any:
    def program(vn: Any, along_dual: Any, difference: Any, out: Any, **tables: Any) -> Any:
        v2e, e2v = tables["V2E"], tables["E2V"]
        curl = sum(vn[v2e[:, n]] * along_dual[:, n, None] for n in range(6))
        return curl[e2v[:, 0]] * difference[:, :1] + curl[e2v[:, 1]] * difference[:, 1:]

    return program


def _velocity(xp: Any, lax: Any, levels: bool) -> Any:
    def mean(x: Any) -> Any:
        return x.dtype.type(0.5) * (x[:, 1:] + x[:, :-1])

    def total(x: Any, table: Any, weights: Any) -> Any:
        return sum(x[table[:, n]] * weights[:, n, None] for n in range(table.shape[1]))

    def program(
        vn: Any, vt: Any, vn_half: Any, w: Any, w_terrain: Any, per_depth_e: Any, per_depth_c: Any,
        rot: Any, to_vertex: Any, bilinear: Any, linear: Any, coriolis: Any, orientation: Any,
        per_length: Any, per_dual: Any, dtime: Any, limit: Any, damping: Any, ddt_vn: Any,
        ddt_w: Any, courant: Any, **tables: Any,
    ) -> Any:  # fmt: skip
        half, e2c, e2v = vn.dtype.type(0.5), tables["E2C"], tables["E2V"]
        turned, across = (per_length * orientation)[:, None], per_dual[:, None]
        w_con, w_cell = mean(w - w_terrain), mean(w)
        number = abs(w_con) * dtime * per_depth_c
        zeta = total(vn, tables["V2E"], rot)
        energy = total(half * (vn * vn + vt * vt), tables["C2E"], bilinear)
        w_edge = total(w_con, e2c, linear)
        first, second = zeta[e2v[:, 0]], zeta[e2v[:, 1]]
        climb = (energy[e2c[:, 1]] - energy[e2c[:, 0]]) * across
        lift = w_edge * (vn_half[:, :-1] - vn_half[:, 1:]) * per_depth_e
        tendency = -(climb + vt * (coriolis[:, None] + half * (first + second)) + lift)
        damped = tendency - damping * (second - first) * turned
        fast = abs(w_edge) * dtime * per_depth_e > limit
        w_vertex = total(w_cell, tables["V2C"], to_vertex)
        drift = vn * ((w_cell[e2c[:, 1]] - w_cell[e2c[:, 0]]) * across)
        drift += vt * ((w_vertex[e2v[:, 1]] - w_vertex[e2v[:, 0]]) * turned)
        brake = xp.where(number > limit, damping * (number - limit) * w_con, xp.zeros_like(w_con))
        lifted = w_con * (w[:, :-1] - w[:, 1:]) * per_depth_c
        change = -(total(drift, tables["C2E"], bilinear) + lifted + brake)
        return xp.where(fast, damped, tendency), change, number

    return program


PROGRAMS = {
    "velocity tendency": (_velocity, "ddt_vn", "ddt_w", "courant"),
    "diffusion": (_diffusion, "out"),
    "tridiagonal": (_tridiagonal, "x"),
    "vertical advection": (_advection, "new_tendency"),
    "nabla2": (_nabla2, "out"),
}
