"""The programs of `gpu_cases.py` in whole arrays, for CuPy and for JAX under `jit`.

Written as a user of each would: `lax.scan` for sweeps where there is `lax`, index arrays for
tables. `levels` tells whether levels are contiguous, and so the last dimension.
"""

from __future__ import annotations

from typing import Any

from fieldforge.examples.vertical_advection import NEW, OLD


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
