"""Loops cut by regions: the inner part has vectors, the rims are plain loops."""

import fieldforge as ff
from fieldforge.experimental import concat_where
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.lower.stage import Lower
from fieldforge.stages.target import CpuTarget
from fieldforge.workflows.builds.building import parsed

from .....dimensions import I, J, Plane


@ff.field_operator
def stepped(
    u: Plane, v: Plane, p: Plane, lid: ff.float64, c: ff.float64, nu: ff.float64, last: ff.int32
) -> tuple[Plane, Plane, Plane]:
    """One explicit step; each field has its own values on the walls."""
    du, dv = u(I + 1) - u(I - 1), v(J + 1) - v(J - 1)
    round_u = u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) - 4.0 * u
    round_v = v(I + 1) + v(I - 1) + v(J + 1) + v(J - 1) - 4.0 * v
    in_u = u - c * (u * du + v * (u(J + 1) - u(J - 1)) + p(I + 1) - p(I - 1)) + nu * round_u
    in_v = v - c * (u * (v(I + 1) - v(I - 1)) + v * dv + p(J + 1) - p(J - 1)) + nu * round_v
    in_p = 0.25 * (p(I + 1) + p(I - 1) + p(J + 1) + p(J - 1) - c * (du + dv))
    wide_u = concat_where(I == 0, 0.0, concat_where(last == I, 0.0, in_u))
    wide_v = concat_where(I == 0, 0.0, concat_where(last == I, 0.0, in_v))
    wide_p = concat_where(I == 0, p(I + 1), concat_where(last == I, p(I - 1), in_p))
    return (
        concat_where(last == J, lid, concat_where(J == 0, 0.0, wide_u)),
        concat_where(last == J, 0.0, concat_where(J == 0, 0.0, wide_v)),
        concat_where(last == J, p(J - 1), concat_where(J == 0, p(J + 1), wide_p)),
    )


@ff.program
def step(
    u: Plane, v: Plane, p: Plane, lid: ff.float64, c: ff.float64, nu: ff.float64, last: ff.int32,
    new_u: Plane, new_v: Plane, new_p: Plane,
):  # fmt: skip
    """Write all points, those on the walls too."""
    stepped(u, v, p, lid, c, nu, last, out=(new_u, new_v, new_p))


def test_four_walls_are_one_nest_with_one_vectorised_part() -> None:
    variant = step._variants.shape.default({})
    lowered = Lower().run(parsed=parsed(step.__definition__), variant=variant)["lowered"]

    made = Codegen(target=CpuTarget("x86-64-v3")).run(lowered=lowered, variant=variant)["generated"]

    assert made.loops.count("    nest n") == 1
    assert made.loops.count("part I: ") == 3
    # both masked ends of a row, its strips on usual rows, and those on the first and the last row
    assert made.source.count("#pragma omp simd\n") == 1
    assert made.source.count("masked(strip, b, ") == 2
    assert made.source.count(" strip(b, ") == 2
    assert len(made.source) < 24_000
