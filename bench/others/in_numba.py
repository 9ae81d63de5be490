"""The programs in Numba: `prange` over planes or rows, IEEE arithmetic.

Arrays are contiguous: of slices of wider ones LLVM does not know that cells lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange

from .arrays import halo_of, loaded, shape_of, upside

CHUNK = 128  # points along a row that the tridiagonal solver takes together
FACE, EDGE, CORNER, CENTRE = 14.0 / 30.0, 3.0 / 30.0, 1.0 / 30.0, -128.0 / 30.0

Ready = tuple[Callable[[], object], Callable[[], dict[str, np.ndarray]]]


@njit(inline="always")
def _limited(flux, gradient, zero):
    return zero if flux * gradient > zero else flux


@njit(parallel=True, cache=True)
def _diffusion(u, coeff, out, four, zero):
    nk, nj, ni = out.shape
    for n in prange(nk * nj):
        k, j = n // nj, n % nj
        s2, s1, p, n1, n2 = u[k, j], u[k, j + 1], u[k, j + 2], u[k, j + 3], u[k, j + 4]
        c, o = coeff[k, j], out[k, j]
        for i in range(ni):
            lap = four * p[i + 2] - (p[i + 3] + p[i + 1] + n1[i + 2] + s1[i + 2])
            east = four * p[i + 3] - (p[i + 4] + p[i + 2] + n1[i + 3] + s1[i + 3])
            west = four * p[i + 1] - (p[i + 2] + p[i] + n1[i + 1] + s1[i + 1])
            north = four * n1[i + 2] - (n1[i + 3] + n1[i + 1] + n2[i + 2] + p[i + 2])
            south = four * s1[i + 2] - (s1[i + 3] + s1[i + 1] + p[i + 2] + s2[i + 2])
            fe = _limited(east - lap, p[i + 3] - p[i + 2], zero)
            fw = _limited(lap - west, p[i + 2] - p[i + 1], zero)
            fn = _limited(north - lap, n1[i + 2] - p[i + 2], zero)
            fs = _limited(lap - south, p[i + 2] - s1[i + 2], zero)
            o[i] = p[i + 2] - c[i] * (fe - fw + fn - fs)


@njit(parallel=True, cache=True)
def _diffusion_rows(u, coeff, out, four, zero):
    """Keep laplacians and fluxes of a plane in arrays of the thread."""
    nk, nj, ni = out.shape
    for k in prange(nk):
        lap = np.empty((nj + 2, ni + 2), u.dtype)
        fly = np.empty((2, ni), u.dtype)
        for j in range(nj + 2):
            s, p, n, to = u[k, j], u[k, j + 1], u[k, j + 2], lap[j]
            for i in range(ni + 2):
                to[i] = four * p[i + 1] - (p[i + 2] + p[i] + n[i + 1] + s[i + 1])
            if j > 0:
                low, to, q = lap[j - 1], fly[j % 2], u[k, j]
                high, q1 = lap[j], u[k, j + 1]
                for i in range(ni):
                    to[i] = _limited(high[i + 1] - low[i + 1], q1[i + 2] - q[i + 2], zero)
            if j > 1:
                l, north, south, p = lap[j - 1], fly[j % 2], fly[(j + 1) % 2], u[k, j]
                c, o = coeff[k, j - 2], out[k, j - 2]
                for i in range(ni):
                    fe = _limited(l[i + 2] - l[i + 1], p[i + 3] - p[i + 2], zero)
                    fw = _limited(l[i + 1] - l[i], p[i + 2] - p[i + 1], zero)
                    o[i] = p[i + 2] - c[i] * (fe - fw + north[i] - south[i])


@njit(parallel=True, cache=True)
def _seven(u, out, six):
    nk, nj, ni = out.shape
    for k in prange(nk):
        for j in range(nj):
            for i in range(ni):
                along = u[k + 1, j + 1, i + 2] + u[k + 1, j + 1, i]
                across = u[k + 1, j + 2, i + 1] + u[k + 1, j, i + 1]
                ends = along + across + u[k + 2, j + 1, i + 1] + u[k, j + 1, i + 1]
                out[k, j, i] = ends - six * u[k + 1, j + 1, i + 1]


@njit(parallel=True, cache=True)
def _all_points(u, out, centre, face, edge, corner):
    nk, nj, ni = out.shape
    for n in prange(nk * nj):
        k, j = n // nj, n % nj
        near, far = np.empty(ni + 2, u.dtype), np.empty(ni + 2, u.dtype)
        p, s, t = u[k + 1, j + 1], u[k + 1, j], u[k + 1, j + 2]
        a, sa, ta = u[k, j + 1], u[k, j], u[k, j + 2]
        b, sb, tb = u[k + 2, j + 1], u[k + 2, j], u[k + 2, j + 2]
        o = out[k, j]
        for i in range(ni + 2):
            near[i] = s[i] + t[i] + a[i] + b[i]
            far[i] = sa[i] + ta[i] + sb[i] + tb[i]
        for i in range(ni):
            o[i] = (
                centre * p[i + 1]
                + face * (p[i] + p[i + 2] + near[i + 1])
                + edge * (near[i] + near[i + 2] + far[i + 1])
                + corner * (far[i] + far[i + 2])
            )


@njit(parallel=True, cache=True)
def _tridiagonal(a, b, c, d, x, chunk):
    nk, nj, ni = x.shape
    parts = (ni + chunk - 1) // chunk
    for n in prange(nj * parts):
        j, first = n // parts, n % parts * chunk
        last = min(ni, first + chunk)
        cp, dp = np.empty((nk, chunk), x.dtype), np.empty((nk, chunk), x.dtype)
        wide = last - first
        for i in range(wide):
            cp[0, i] = c[0, j, first + i] / b[0, j, first + i]
            dp[0, i] = d[0, j, first + i] / b[0, j, first + i]
        for k in range(1, nk):
            ak, bk, ck, dk = a[k, j], b[k, j], c[k, j], d[k, j]
            before_c, before_d, here_c, here_d = cp[k - 1], dp[k - 1], cp[k], dp[k]
            for i in range(wide):
                pivot = bk[first + i] - ak[first + i] * before_c[i]
                here_c[i] = ck[first + i] / pivot
                here_d[i] = (dk[first + i] - ak[first + i] * before_d[i]) / pivot
        for i in range(wide):
            x[nk - 1, j, first + i] = dp[nk - 1, i]
        for k in range(nk - 2, -1, -1):
            here, below, cpk, dpk = x[k, j], x[k + 1, j], cp[k], dp[k]
            for i in range(wide):
                here[first + i] = dpk[i] - cpk[i] * below[first + i]


@njit(parallel=True, cache=True)
def _nabla2(vn, along, difference, v2e, e2v, curl, out):
    for v in prange(curl.shape[0]):
        to = curl[v]
        e0, e1, e2, e3, e4 = v2e[v, 0], v2e[v, 1], v2e[v, 2], v2e[v, 3], v2e[v, 4]
        r0, r1, r2, r3, r4 = vn[e0], vn[e1], vn[e2], vn[e3], vn[e4]
        w = along[v]
        w0, w1, w2, w3, w4 = w[0], w[1], w[2], w[3], w[4]
        for k in range(to.shape[0]):
            to[k] = r0[k] * w0 + r1[k] * w1 + r2[k] * w2 + r3[k] * w3 + r4[k] * w4
        if v2e[v, 5] >= 0:
            row, w5 = vn[v2e[v, 5]], w[5]
            for k in range(to.shape[0]):
                to[k] += row[k] * w5
    for e in prange(out.shape[0]):
        low, high, o = curl[e2v[e, 0]], curl[e2v[e, 1]], out[e]
        w0, w1 = difference[e, 0], difference[e, 1]
        for k in range(o.shape[0]):
            o[k] = low[k] * w0 + high[k] * w1


@njit(parallel=True, cache=True)
def _upwind(q, cx, cy, out, zero):
    nj, ni = out.shape
    for j in prange(nj):
        s, p, n, x = q[j], q[j + 1], q[j + 2], cx[j]
        low, high, o = cy[j], cy[j + 1], out[j]
        for i in range(ni):
            west = max(x[i], zero) * p[i] + min(x[i], zero) * p[i + 1]
            east = max(x[i + 1], zero) * p[i + 1] + min(x[i + 1], zero) * p[i + 2]
            south = max(low[i], zero) * s[i + 1] + min(low[i], zero) * p[i + 1]
            north = max(high[i], zero) * p[i + 1] + min(high[i], zero) * n[i + 1]
            o[i] = p[i + 1] - (east - west) - (north - south)


@njit(parallel=True, cache=True)
def _flux(h, q, vn, length, sign, area, g, dt, half, one, e2c, c2e, through, new):
    for e in prange(through.shape[0]):
        low, high = e2c[e, 0], e2c[e, 1]
        depth = half * (h[low] + h[high])
        speed = abs(vn[e]) + np.sqrt(g * depth)
        moved = vn[e] * (q[low] + q[high]) - speed * (q[high] - q[low])
        through[e] = length[e] * moved / (one + depth)
    for n in prange(new.shape[0]):
        first, second = through[c2e[n, 0]] * sign[n, 0], through[c2e[n, 1]] * sign[n, 1]
        total = first + second + through[c2e[n, 2]] * sign[n, 2]
        new[n] = q[n] - dt / area[n] * total


def prepared(program: str, given: dict[str, Any]) -> dict[str, Ready]:
    """Return the calls of a program by variant, each with what gives its outputs."""
    return PROGRAMS[program](given)


def _fields(given: dict[str, Any], *names: str) -> list[np.ndarray]:
    arguments = given["arguments"]
    return [upside(loaded(arguments[name])) for name in names]


def _result(given: dict[str, Any], name: str) -> tuple[np.ndarray, Callable[[], dict[str, Any]]]:
    argument = given["arguments"][name]
    made = np.zeros(shape_of(argument)[::-1], given["dtype"])
    return made, lambda: {f"{name}-0": made.transpose()}


def _numbers(given: dict[str, Any], *values: float) -> list[Any]:
    return [np.dtype(given["dtype"]).type(value) for value in values]


def _diffusions(given: dict[str, Any]) -> dict[str, Ready]:
    u, coeff = _fields(given, "u", "coeff")
    out, outputs = _result(given, "out")
    numbers = _numbers(given, 4.0, 0.0)
    return {
        "points": (lambda: _diffusion(u, coeff, out, *numbers), outputs),
        "planes": (lambda: _diffusion_rows(u, coeff, out, *numbers), outputs),
    }


def _sevens(given: dict[str, Any]) -> dict[str, Ready]:
    (u,), (out, outputs) = _fields(given, "u"), _result(given, "out")
    numbers = _numbers(given, 6.0)
    return {"rows": (lambda: _seven(u, out, *numbers), outputs)}


def _alls(given: dict[str, Any]) -> dict[str, Ready]:
    (u,), (out, outputs) = _fields(given, "u"), _result(given, "out")
    numbers = _numbers(given, CENTRE, FACE, EDGE, CORNER)
    return {"rows": (lambda: _all_points(u, out, *numbers), outputs)}


def _tridiagonals(given: dict[str, Any]) -> dict[str, Ready]:
    arrays, (x, outputs) = _fields(given, *"abcd"), _result(given, "x")
    return {
        f"chunks of {chunk}": (lambda chunk=chunk: _tridiagonal(*arrays, x, chunk), outputs)
        for chunk in (CHUNK, 4 * CHUNK)
    }


def _nabla2s(given: dict[str, Any]) -> dict[str, Ready]:
    vn, along, difference = (loaded(given["arguments"][name]) for name in _MESH)
    v2e, e2v = (loaded(given["tables"][name]) for name in ("V2E", "E2V"))
    curl = np.zeros((v2e.shape[0], vn.shape[1]), vn.dtype)
    out = np.zeros_like(vn)
    call = lambda: _nabla2(vn, along, difference, v2e, e2v, curl, out)  # noqa: E731
    return {"two passes": (call, lambda: {"out-0": out})}


def _upwinds(given: dict[str, Any]) -> dict[str, Ready]:
    arguments = given["arguments"]
    n, h = int(arguments["nx"]["scalar"]), halo_of(arguments["q"])
    q, cx, cy = (upside(loaded(arguments[name])) for name in ("q", "cx", "cy"))
    q = np.ascontiguousarray(q[h - 1 : h + n + 1, h - 1 : h + n + 1])
    cx = np.ascontiguousarray(cx[h : h + n, h : h + n + 1])
    cy = np.ascontiguousarray(cy[h : h + n + 1, h : h + n])
    out, outputs = _result(given, "out")
    (zero,) = _numbers(given, 0.0)
    return {"rows": (lambda: _upwind(q, cx, cy, out, zero), outputs)}


def _fluxes(given: dict[str, Any]) -> dict[str, Ready]:
    inputs = [loaded(given["arguments"][name]) for name in ("h", "q", "vn", "length", "sign")]
    area, (new, outputs) = loaded(given["arguments"]["area"]), _result(given, "new")
    e2c, c2e = (loaded(given["tables"][name]) for name in ("E2C", "C2E"))
    g, dt = (given["arguments"][name]["scalar"] for name in ("g", "dt"))
    numbers, through = _numbers(given, g, dt, 0.5, 1.0), np.zeros(len(e2c), new.dtype)
    call = lambda: _flux(*inputs, area, *numbers, e2c, c2e, through, new)  # noqa: E731
    return {"two loops": (call, outputs)}


_MESH = ("vn", "along_dual", "difference")
PROGRAMS = {
    "diffusion": _diffusions,
    "seven points": _sevens,
    "twenty seven points": _alls,
    "tridiagonal": _tridiagonals,
    "nabla2": _nabla2s,
    "upwind": _upwinds,
    "flux": _fluxes,
}
