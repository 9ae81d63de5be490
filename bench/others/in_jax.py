"""The programs in JAX: slices of whole arrays under `jit`, 64 bits enabled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .arrays import halo_of, loaded, upside

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

Array = jax.Array
Ready = tuple[Callable[[], object], Callable[[], dict[str, np.ndarray]]]


def _diffusion(u: Array, coeff: Array) -> Array:
    near = u[:, 1:-1, 2:] + u[:, 1:-1, :-2] + u[:, 2:, 1:-1] + u[:, :-2, 1:-1]
    lap = 4 * u[:, 1:-1, 1:-1] - near
    flx = lap[:, 1:-1, 1:] - lap[:, 1:-1, :-1]
    flx = jnp.where(flx * (u[:, 2:-2, 2:-1] - u[:, 2:-2, 1:-2]) > 0, 0, flx)
    fly = lap[:, 1:, 1:-1] - lap[:, :-1, 1:-1]
    fly = jnp.where(fly * (u[:, 2:-1, 2:-2] - u[:, 1:-2, 2:-2]) > 0, 0, fly)
    spread = flx[..., 1:] - flx[..., :-1] + fly[:, 1:] - fly[:, :-1]
    return u[:, 2:-2, 2:-2] - coeff * spread


def _seven(u: Array) -> Array:
    c = u[1:-1, 1:-1, 1:-1]
    ends = u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
    return ends + u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] - 6 * c


def _all_points(u: Array) -> Array:
    near = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
    far = u[:-2, :-2] + u[:-2, 2:] + u[2:, :-2] + u[2:, 2:]
    p = u[1:-1, 1:-1]
    result = -128 / 30 * p[..., 1:-1] + 14 / 30 * (p[..., :-2] + p[..., 2:] + near[..., 1:-1])
    result += 3 / 30 * (near[..., :-2] + near[..., 2:] + far[..., 1:-1])
    return result + 1 / 30 * (far[..., :-2] + far[..., 2:])


def _tridiagonal(a: Array, b: Array, c: Array, d: Array) -> Array:
    def down(above: tuple[Array, Array], row: tuple[Array, ...]) -> tuple[Any, Any]:
        a, b, c, d = row
        pivot = b - a * above[0]
        here = c / pivot, (d - a * above[1]) / pivot
        return here, here

    def up(below: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        here = row[1] - row[0] * below
        return here, here

    zero = jnp.zeros_like(a[0])
    _, eliminated = jax.lax.scan(down, (zero, zero), (a, b, c, d))
    _, x = jax.lax.scan(up, zero, eliminated, reverse=True)
    return x


def _nabla2(
    vn: Array, along: Array, difference: Array, v2e: Array, there: Array, e2v: Array
) -> Array:
    curl = sum(vn[v2e[:, n]] * along[:, n, None] for n in range(5))
    curl += jnp.where(there[:, None], vn[v2e[:, 5]] * along[:, 5, None], 0)
    return sum(curl[e2v[:, n]] * difference[:, n, None] for n in range(2))


def _upwind(q: Array, cx: Array, cy: Array) -> Array:
    p = q[1:-1, 1:-1]
    flux = jnp.maximum(cx, 0) * q[1:-1, :-1] + jnp.minimum(cx, 0) * q[1:-1, 1:]
    rise = jnp.maximum(cy, 0) * q[:-1, 1:-1] + jnp.minimum(cy, 0) * q[1:, 1:-1]
    return p - (flux[:, 1:] - flux[:, :-1]) - (rise[1:] - rise[:-1])


def _vertical_advection(
    u: Array, before: Array, w: Array, tendency: Array, per_step: Array
) -> Array:
    flow = (0.25 * (w[..., 1:] + w[..., :-1])).at[jnp.array((0, -1))].set(0.0)
    exchange = jnp.zeros_like(flow).at[1:-1].set(flow[1:-1] * (u[1:] - u[:-1]))
    a, c = -0.6 * flow[:-1], 0.6 * flow[1:]
    d = per_step * before + tendency - 0.4 * (exchange[:-1] + exchange[1:])
    return per_step * (_tridiagonal(a, per_step - a - c, c, d) - before)


def _adjoint(program: str) -> Callable[..., Any]:
    """Return the adjoint of a program: the outputs are the adjoints of the inputs `wrt`."""

    def made(given: dict[str, Any]) -> tuple[Callable[..., Any], list[np.ndarray], Any]:
        function, arrays, output = PROGRAMS[program](given)
        names = INPUTS[program]
        places = [names.index(name) for name in given["wrt"]]
        seed = loaded(given["arguments"][f"{output.partition('-')[0]}_b"])

        def pulled(seed: Array, *primals: Array) -> tuple[Array, ...]:
            def of(*active: Array) -> Array:
                full = list(primals)
                for place, each in zip(places, active, strict=True):
                    full[place] = each
                return function(*full)

            _, pull = jax.vjp(of, *(primals[place] for place in places))
            return pull(seed)

        seed = seed if program == "nabla2" else upside(seed)
        return pulled, [seed, *arrays], given["wrt"]

    return made


def prepared(program: str, given: dict[str, Any]) -> dict[str, Ready]:
    """Return the call of a program, with what gives its outputs."""
    function, arrays, outputs = PROGRAMS[program](given)
    placed = [jax.device_put(array) for array in arrays]
    compiled = jax.jit(function).lower(*placed).compile()
    kept: list[Any] = []

    def call() -> None:
        kept[:] = [jax.block_until_ready(compiled(*placed))]

    def found() -> dict[str, np.ndarray]:
        named = (
            {outputs: kept[0]} if isinstance(outputs, str) else zip(outputs, kept[0], strict=True)
        )
        return {name: _turned(program, np.asarray(each)) for name, each in dict(named).items()}

    return {"jit": (call, found)}


def _turned(program: str, result: np.ndarray) -> np.ndarray:
    return result if program.endswith("nabla2") else result.transpose()


def _columns(
    function: Callable[..., Array], output: str, *names: str, numbers: tuple[str, ...] = ()
) -> Callable[..., Any]:
    def made(given: dict[str, Any]) -> tuple[Callable[..., Array], list[np.ndarray], str]:
        arrays = [upside(loaded(given["arguments"][name])) for name in names]
        more = [np.asarray(given["arguments"][name]["scalar"]) for name in numbers]
        return function, [*arrays, *more], output

    return made


def _mesh(given: dict[str, Any]) -> tuple[Callable[..., Array], list[np.ndarray], str]:
    fields = [loaded(given["arguments"][name]) for name in ("vn", "along_dual", "difference")]
    v2e, e2v = (loaded(given["tables"][name]) for name in ("V2E", "E2V"))
    return _nabla2, [*fields, np.maximum(v2e, 0), v2e[:, 5] >= 0, e2v], "out-0"


def _cells(given: dict[str, Any]) -> tuple[Callable[..., Array], list[np.ndarray], str]:
    arguments = given["arguments"]
    n, h = int(arguments["nx"]["scalar"]), halo_of(arguments["q"])
    q, cx, cy = (upside(loaded(arguments[name])) for name in ("q", "cx", "cy"))
    q = q[h - 1 : h + n + 1, h - 1 : h + n + 1]
    return _upwind, [q, cx[h : h + n, h : h + n + 1], cy[h : h + n + 1, h : h + n]], "out-0"


PROGRAMS = {
    "diffusion": _columns(_diffusion, "out-0", "u", "coeff"),
    "seven points": _columns(_seven, "out-0", "u"),
    "twenty seven points": _columns(_all_points, "out-0", "u"),
    "tridiagonal": _columns(_tridiagonal, "x-0", *"abcd"),
    "nabla2": _mesh,
    "upwind": _cells,
    "vertical advection": _columns(
        _vertical_advection, "new_tendency-0", *("u", "u_before", "w", "tendency"),
        numbers=("per_step",),
    ),
}  # fmt: skip
INPUTS = {
    "diffusion": ("u", "coeff"),
    "tridiagonal": tuple("abcd"),
    "nabla2": ("vn",),
    "vertical advection": ("u", "u_before", "w", "tendency"),
}
PROGRAMS |= {f"adjoint of {program}": _adjoint(program) for program in INPUTS}
