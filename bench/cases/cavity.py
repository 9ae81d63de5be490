"""A lid-driven cavity: velocities and pressure on a plane with walls on four sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import fieldforge as ff
import fieldforge.examples
from fieldforge.examples.precision import in_precision

from .case import Case

HALO = 2
fieldforge.examples.__path__.append(str(Path(__file__).parents[1] / "small_programs"))


def cavity(dtype: str, scale: float) -> Case:
    """64 x 64."""
    module = in_precision("cavity", dtype)
    I, J = module.I, module.J
    n = max(4, round(64 * scale**0.5))
    numbers = np.random.default_rng(6)
    data = [numbers.random((n + 2 * HALO, n + 2 * HALO)).astype(dtype) for _ in "uvp"]
    wide, inner = dict.fromkeys((I, J), (-HALO, n + HALO)), dict.fromkeys((I, J), n)
    fields = [ff.as_field(wide, each, allocator=ff.cpu) for each in data]
    names = ("new_u", "new_v", "new_p")
    outs = {name: ff.zeros(inner, np.dtype(dtype), allocator=ff.cpu) for name in names}
    numbers_in = {
        name: np.dtype(dtype).type(value) for name, value in zip(_SCALARS, VALUES, strict=True)
    }
    return Case(
        name="cavity",
        size=f"{n}x{n}",
        dtype=dtype,
        program=module.step,
        arguments={**dict(zip("uvp", fields, strict=True)), **numbers_in, "last": n - 1, **outs},
        tables={},
        outputs=names,
        by_hand={},
        in_numpy=lambda: _in_numpy(data, numbers_in),
        moved=6 * n * n * np.dtype(dtype).itemsize,
        operations=OPERATIONS * n * n,
    )


OPERATIONS = 45
_SCALARS = ("lid", "c", "nu")
VALUES = (1.0, 0.01, 0.002)
CASES: tuple[Callable[[str, float], Case], ...] = (cavity,)


def _in_numpy(data: list[np.ndarray], given: Mapping[str, Any]) -> Mapping[str, np.ndarray]:
    u, v, p = data
    lid, c, nu = given.values()
    four, quarter = u.dtype.type(4), u.dtype.type(0.25)
    here, low, high = slice(HALO, -HALO), slice(HALO - 1, -HALO - 1), slice(HALO + 1, 1 - HALO)

    def around(f: np.ndarray) -> tuple[np.ndarray, ...]:
        return f[high, here], f[low, here], f[here, high], f[here, low], f[here, here]

    (ue, uw, un, us, a), (ve, vw, vn, vs, b), (pe, pw, pn, ps, _) = map(around, (u, v, p))
    du, dv = ue - uw, vn - vs
    new_u = a - c * (a * du + b * (un - us) + pe - pw) + nu * (ue + uw + un + us - four * a)
    new_v = b - c * (a * (ve - vw) + b * dv + pn - ps) + nu * (ve + vw + vn + vs - four * b)
    new_p = quarter * (pe + pw + pn + ps - c * (du + dv))
    for new, top in ((new_u, lid), (new_v, 0)):
        new[[0, -1]] = 0
        new[:, 0], new[:, -1] = 0, top
    new_p[0], new_p[-1] = pe[0], pw[-1]
    new_p[:, 0], new_p[:, -1] = pn[:, 0], ps[:, -1]
    return {"new_u": new_u, "new_v": new_v, "new_p": new_p}
