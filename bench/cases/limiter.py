"""The flux limiter of MPDATA as one operator with two outputs, and split into three statements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import in_precision

from .case import Case

FLOPS = 42 + 2 * 9


def joint(dtype: str, scale: float) -> Case:
    """200 x 200: what both outputs need is decided once for them."""
    return _case("limit", dtype, round(200 * scale))


def split(dtype: str, scale: float) -> Case:
    """200 x 200: fields that the author chose hold what both outputs need."""
    return _case("limit_in_steps", dtype, round(200 * scale))


CASES: tuple[Callable[[str, float], Case], ...] = (joint, split)


def _case(name: str, dtype: str, n: int) -> Case:
    program = in_precision("advection", dtype)
    I, J, IW, JS = program.I, program.J, program.IW, program.JS
    cells, faces = (-program.HALO, n + program.HALO), (-program.HALO, n + program.HALO + 1)
    numbers = np.random.default_rng(1)

    def drawn(domain: dict[ff.Dimension, tuple[int, int]], least: float) -> ff.Field:
        shape = [stop - start for start, stop in domain.values()]
        values = (least + 0.4 * numbers.random(shape)).astype(dtype)
        return ff.as_field(domain, values, allocator=ff.cpu)

    def empty(domain: dict[ff.Dimension, tuple[int, int]]) -> ff.Field:
        return ff.zeros(domain, np.dtype(dtype).type, allocator=ff.cpu)

    plane = {I: cells, J: cells}
    room = {"more": empty(plane), "less": empty(plane)} if name == "limit_in_steps" else {}
    return Case(
        name=name.replace("_", " "),
        size=f"{n}x{n}",
        dtype=dtype,
        program=getattr(program, name),
        arguments={
            "q": drawn(plane, 0.0),
            "before": drawn(plane, 0.0),
            "cx": drawn({IW: faces, J: cells}, -0.2),
            "cy": drawn({I: cells, JS: faces}, -0.2),
            **room,
            "new_cx": empty({IW: (0, n + 1), J: (0, n)}),
            "new_cy": empty({I: (0, n), JS: (0, n + 1)}),
            "nx": n,
            "ny": n,
        },
        tables={},
        outputs=("new_cx", "new_cy"),
        by_hand={},
        in_numpy=dict,
        moved=6 * n * n * np.dtype(dtype).itemsize,
        operations=FLOPS * n * n,
    )
