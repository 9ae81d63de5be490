"""Programs as those of ICON4Py are written, in which many parts of the language meet."""

from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import pytest

import fieldforge as gtx
from fieldforge import (
    abs,  # noqa: A004 - a name of the language
    int32,
    maximum,
    minimum,
    sqrt,
    where,
)

from ..dimensions import Cell, K
from .support import MESH

wpfloat = gtx.float64
T = TypeVar("T")
CellKField: TypeAlias = gtx.Field[gtx.Dims[Cell, K], T]
LEVELS = 6
SIZES = {Cell: 4, K: LEVELS}


def data(*dims, seed=0, low=None, high=None):
    """Return numbers over dimensions, normal ones or between bounds."""
    shape = tuple(SIZES[dim] for dim in dims)
    random = np.random.default_rng((seed, *shape))
    return random.normal(size=shape) if low is None else random.uniform(low, high, shape)


def as_field(dims, array, dtype=None):
    return gtx.as_field(dims, array, dtype=dtype)


def call(program, backend, **arguments):
    """Call a program as models do: every argument by keyword."""
    program.with_backend(backend)(**arguments, offset_provider=MESH)


class Precipitation(NamedTuple):
    rain: wpfloat
    snow: wpfloat


class Integration(NamedTuple):
    falling: Precipitation
    level: int32
    active: bool


@gtx.field_operator
def _terminal_velocity(x: wpfloat) -> wpfloat:
    return wpfloat("0.5") * sqrt(x) if x > wpfloat("0.0") else wpfloat("0.0")


@gtx.scan_operator(
    axis=K,
    forward=True,
    init=Integration(falling=Precipitation(rain=0.0, snow=0.0), level=0, active=False),
)
def _sediment(state: Integration, rain: wpfloat, snow: wpfloat, dt: wpfloat) -> Integration:
    above = state.falling
    velocity = _terminal_velocity(rain + above.rain)
    active = state.active | (rain > wpfloat("0.25"))
    if active:
        kept_rain = above.rain + (rain - above.rain) * velocity * dt
        kept_snow = maximum(snow, above.snow)
    else:
        kept_rain = rain
        kept_snow = snow
    return Integration(
        falling=Precipitation(rain=kept_rain, snow=kept_snow), level=state.level + 1, active=active
    )


@gtx.field_operator
def _graupel(
    rain: CellKField[wpfloat], snow: CellKField[wpfloat], dt: wpfloat
) -> tuple[CellKField[wpfloat], CellKField[wpfloat], CellKField[int32]]:
    result = _sediment(rain, abs(snow), dt)
    total = result.falling.rain + result.falling.snow
    return where(result.active, total, rain), result.falling.snow, result.level


def test_step_13_a_column_scheme_with_a_nested_state(backend):
    rain, snow = data(Cell, K, low=0.0, high=0.5), data(Cell, K, seed=1)
    box = {Cell: 4, K: LEVELS}
    out = gtx.zeros(box), gtx.zeros(box), gtx.zeros(box, dtype=int32)
    _graupel.with_backend(backend)(
        as_field((Cell, K), rain), as_field((Cell, K), snow), 0.1, out=out
    )

    above_rain, above_snow, active = np.zeros(4), np.zeros(4), np.zeros(4, bool)
    for k in range(LEVELS):
        r, s = rain[:, k], np.abs(snow[:, k])
        velocity = 0.5 * np.sqrt(r + above_rain)
        active = active | (r > 0.25)
        kept_rain = np.where(active, above_rain + (r - above_rain) * velocity * 0.1, r)
        kept_snow = np.where(active, np.maximum(s, above_snow), s)
        above_rain, above_snow = kept_rain, kept_snow
        total = np.where(active, kept_rain + kept_snow, r)
        np.testing.assert_allclose(out[0].asnumpy()[:, k], total, rtol=1e-13)
        np.testing.assert_allclose(out[1].asnumpy()[:, k], kept_snow, rtol=1e-13)
    np.testing.assert_array_equal(out[2].asnumpy(), np.tile(np.arange(1, LEVELS + 1), (4, 1)))


class Q(NamedTuple):
    v: CellKField[wpfloat]
    c: CellKField[wpfloat]
    i: CellKField[wpfloat]


@gtx.field_operator
def _saturate(
    te: CellKField[wpfloat], q: Q, mask: CellKField[bool]
) -> tuple[CellKField[wpfloat], Q]:
    change = minimum(q.v, q.c * te)
    adjusted = Q(v=q.v - change, c=q.c + change, i=q.i)
    return te + change, where(mask, adjusted, q)


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def saturate(
    te: CellKField[wpfloat], q: Q, mask: CellKField[bool], t_out: CellKField[wpfloat], q_out: Q
):
    _saturate(te, q, mask, out=(t_out, q_out))


@pytest.mark.parametrize("in_place", [False, True])
def test_step_16_named_tuples_in_nested_outputs_even_in_place(backend, in_place):
    te, v, c, i = (data(Cell, K, seed=seed) for seed in range(4))
    mask = data(Cell, K, seed=9) > 0
    box = {Cell: 4, K: LEVELS}
    t, q = as_field((Cell, K), te), Q(*(as_field((Cell, K), x) for x in (v, c, i)))
    t_out, q_out = (t, q) if in_place else (gtx.zeros(box), Q(*(gtx.zeros(box) for _ in range(3))))
    call(saturate, backend, te=t, q=q, mask=as_field((Cell, K), mask), t_out=t_out, q_out=q_out)

    change = np.minimum(v, c * te)
    np.testing.assert_array_equal(t_out.asnumpy(), te + change)
    for found, expected in zip(
        q_out, (np.where(mask, v - change, v), np.where(mask, c + change, c), i), strict=True
    ):
        np.testing.assert_array_equal(found.asnumpy(), expected)


def test_precision_is_a_global_that_may_be_rebound(backend, monkeypatch):
    def build():
        @gtx.field_operator
        def _half(x: CellKField[wpfloat]) -> CellKField[wpfloat]:
            return x * wpfloat("0.5")

        return _half

    monkeypatch.setitem(globals(), "wpfloat", gtx.float32)
    x, out = data(Cell, K).astype(np.float32), gtx.zeros({Cell: 4, K: LEVELS}, dtype=gtx.float32)
    build().with_backend(backend)(as_field((Cell, K), x), out=out)

    np.testing.assert_array_equal(out.asnumpy(), x * np.float32(0.5))
