"""Programs like those of ICON4Py, for each step of its inventory (client.md, section 2).

Each is written as models write them: constants from enums, casts of strings, keyword arguments,
a program with horizontal and vertical bounds around one operator, references in plain NumPy.
"""

# ruff: noqa: SIM300 - in a condition on a dimension either side may be the number

import enum
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import pytest

import fieldforge as gtx
from fieldforge import (
    abs,  # noqa: A004 - a name of the language
    astype,
    broadcast,
    exp,
    int32,
    log,
    max_over,
    maximum,
    min_over,
    minimum,
    neighbor_sum,
    power,
    sqrt,
    where,
)
from fieldforge.experimental import as_offset, concat_where

from .support import (
    C2C,
    C2E,
    E2C,
    E2V,
    MESH,
    V2E,
    C2CDim,
    C2EDim,
    Cell,
    E2CDim,
    Edge,
    K,
    Koff,
    V2EDim,
    Vertex,
    c2c,
    c2e,
    e2c,
    e2v,
    v2e,
)

wpfloat, vpfloat = gtx.float64, gtx.float32
T = TypeVar("T")
CellField: TypeAlias = gtx.Field[gtx.Dims[Cell], T]
EdgeField: TypeAlias = gtx.Field[gtx.Dims[Edge], T]
CellKField: TypeAlias = gtx.Field[gtx.Dims[Cell, K], T]
EdgeKField: TypeAlias = gtx.Field[gtx.Dims[Edge, K], T]
VertexKField: TypeAlias = gtx.Field[gtx.Dims[Vertex, K], T]
KField: TypeAlias = gtx.Field[gtx.Dims[K], T]
LEVELS = 6
SIZES = {Cell: 4, Edge: 9, Vertex: 6, K: LEVELS, C2EDim: 3, C2CDim: 3, E2CDim: 2, V2EDim: 4}
BOUNDS = {"vertical_start": 0, "vertical_end": LEVELS}


class PhysicsConstants(np.float64, enum.Enum):
    GRAV = 9.80665
    RD = 287.04
    CPD = 1004.64
    P0REF = 100000.0


class Advection(int, enum.Enum):
    OFF = 0
    UPWIND = 1
    CENTRED = 2


def data(*dims, seed=0, low=None, high=None):
    """Return numbers over dimensions, normal ones or between bounds."""
    shape = tuple(SIZES[dim] for dim in dims)
    random = np.random.default_rng((seed, *shape))
    return random.normal(size=shape) if low is None else random.uniform(low, high, shape)


def as_field(dims, array, dtype=None):
    return gtx.as_field(dims, array, dtype=dtype)


def bounds(dim, start=0, stop=None):
    return {"horizontal_start": int32(start), "horizontal_end": int32(stop or SIZES[dim]), **BOUNDS}


def call(program, backend, **arguments):
    """Call a program as models do: every argument by keyword."""
    program.with_backend(backend)(**arguments, offset_provider=MESH)


# --- 1: pointwise, `domain`, tuples of outputs, constants ---


@gtx.field_operator
def _exner_and_theta(
    rho: CellKField[wpfloat], theta_v: CellKField[wpfloat]
) -> tuple[CellKField[wpfloat], CellKField[wpfloat]]:
    pressure = PhysicsConstants.RD * rho * theta_v / PhysicsConstants.P0REF
    exner = pressure ** (PhysicsConstants.RD / PhysicsConstants.CPD)
    return exner, theta_v * exner - PhysicsConstants.GRAV


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def exner_and_theta(
    rho: CellKField[wpfloat],
    theta_v: CellKField[wpfloat],
    exner: CellKField[wpfloat],
    theta: CellKField[wpfloat],
    horizontal_start: int32,
    horizontal_end: int32,
    vertical_start: int32,
    vertical_end: int32,
):
    _exner_and_theta(
        rho,
        theta_v,
        out=(exner, theta),
        domain={Cell: (horizontal_start, horizontal_end), K: (vertical_start, vertical_end)},
    )


def test_step_01_pointwise_with_constants_and_two_outputs(backend):
    rho, theta_v = data(Cell, K, low=0.5, high=1.5), data(Cell, K, seed=1, low=280, high=320)
    exner, theta = (as_field((Cell, K), np.zeros((4, LEVELS))) for _ in range(2))
    call(
        exner_and_theta, backend, rho=as_field((Cell, K), rho),
        theta_v=as_field((Cell, K), theta_v), exner=exner, theta=theta, **bounds(Cell, 1, 3),
    )  # fmt: skip

    expected = (287.04 * rho * theta_v / 100000.0) ** (287.04 / 1004.64)
    np.testing.assert_allclose(exner.asnumpy()[1:3], expected[1:3], rtol=1e-14)
    np.testing.assert_allclose(
        theta.asnumpy()[1:3], (theta_v * expected - 9.80665)[1:3], rtol=1e-13
    )
    assert not exner.asnumpy()[[0, 3]].any()


# --- 2: casts ---


@gtx.field_operator
def _mixed_precision(
    w: CellKField[wpfloat], dz: CellKField[vpfloat], dt: wpfloat
) -> tuple[CellKField[vpfloat], CellKField[wpfloat]]:
    w_vp, dt_vp = astype((w, dt), vpfloat)
    half = vpfloat("0.5") * w_vp * dt_vp
    return half / dz, w * wpfloat("0.25") + astype(half, wpfloat)


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def mixed_precision(
    w: CellKField[wpfloat],
    dz: CellKField[vpfloat],
    dt: wpfloat,
    out_vp: CellKField[vpfloat],
    out_wp: CellKField[wpfloat],
):
    _mixed_precision(w, dz, dt, out=(out_vp, out_wp))


def test_step_02_casts_of_tuples_and_strings(backend):
    w = data(Cell, K)
    dz = data(Cell, K, seed=1, low=1.0, high=2.0).astype(np.float32)
    out_vp = gtx.zeros({Cell: 4, K: LEVELS}, dtype=vpfloat)
    out_wp = gtx.zeros({Cell: 4, K: LEVELS})
    call(
        mixed_precision, backend, w=as_field((Cell, K), w), dz=as_field((Cell, K), dz), dt=0.1,
        out_vp=out_vp, out_wp=out_wp,
    )  # fmt: skip

    half = np.float32(0.5) * w.astype(np.float32) * np.float32(0.1)
    np.testing.assert_allclose(out_vp.asnumpy(), half / dz, rtol=3e-7)
    np.testing.assert_allclose(out_wp.asnumpy(), w * 0.25 + half.astype(np.float64), rtol=1e-14)


# --- 3: mathematics ---


@gtx.field_operator
def _saturation(t: CellKField[wpfloat], p: CellKField[wpfloat]) -> CellKField[wpfloat]:
    es = wpfloat("610.78") * exp(
        wpfloat("17.269") * (t - wpfloat("273.16")) / (t - wpfloat("35.86"))
    )
    return maximum(
        wpfloat("0.0"),
        minimum(sqrt(abs(es / p)), power(log(p) / wpfloat("10.0"), wpfloat("2.0"))),
    )


def test_step_03_mathematics(backend):
    t, p = data(Cell, K, low=250, high=300), data(Cell, K, seed=1, low=5e4, high=1e5)
    out = gtx.zeros({Cell: 4, K: LEVELS})
    _saturation.with_backend(backend)(as_field((Cell, K), t), as_field((Cell, K), p), out=out)

    es = 610.78 * np.exp(17.269 * (t - 273.16) / (t - 35.86))
    expected = np.maximum(0.0, np.minimum(np.sqrt(np.abs(es / p)), (np.log(p) / 10.0) ** 2))
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-13)


# --- 4: where, comparisons, logic ---


@gtx.field_operator
def _limited_flux(
    flux: EdgeKField[wpfloat],
    owner: EdgeField[bool],
    level: KField[int32],
    refinement: EdgeField[int32],
    limit: wpfloat,
    end: int32,
) -> tuple[EdgeKField[wpfloat], EdgeKField[bool]]:
    clipped = where(flux > limit, limit, where(flux < -limit, -limit, flux))
    active = (level >= 1) & (level < end) & ~(refinement == 3)
    kept = active | owner
    return where(kept, clipped, wpfloat("0.0")), kept


def test_step_04_where_and_masks_of_fewer_dimensions(backend):
    flux, owner = data(Edge, K), data(Edge) > 0
    refinement = np.arange(9) % 5
    out = gtx.zeros({Edge: 9, K: LEVELS}), gtx.zeros({Edge: 9, K: LEVELS}, dtype=bool)
    _limited_flux.with_backend(backend)(
        as_field((Edge, K), flux), as_field((Edge,), owner),
        as_field((K,), np.arange(LEVELS), int32), as_field((Edge,), refinement, int32), 0.75, 4,
        out=out,
    )  # fmt: skip

    level = np.arange(LEVELS)
    active = ((level >= 1) & (level < 4))[None, :] & ~(refinement == 3)[:, None]
    kept = active | owner[:, None]
    np.testing.assert_array_equal(out[1].asnumpy(), kept)
    np.testing.assert_array_equal(out[0].asnumpy(), np.where(kept, np.clip(flux, -0.75, 0.75), 0.0))


# --- 5: operators call operators ---


@gtx.field_operator
def _split(
    x: CellKField[wpfloat], y: CellKField[wpfloat]
) -> tuple[CellKField[wpfloat], CellKField[wpfloat]]:
    return x + y, x - y


@gtx.field_operator
def _combine(
    x: CellKField[wpfloat], y: CellKField[wpfloat], weight: wpfloat
) -> tuple[CellKField[vpfloat], CellKField[vpfloat], CellKField[wpfloat]]:
    plus, minus = _split(x=x, y=y)
    _, second = _split(weight * plus, y=minus)
    first = _split(plus, minus)[0]
    first_vp, second_vp = astype((first, second), vpfloat)
    return first_vp, second_vp, plus * minus


def test_step_05_calls_with_tuples_and_keywords(backend):
    x, y = data(Cell, K), data(Cell, K, seed=1)
    box = {Cell: 4, K: LEVELS}
    out = gtx.zeros(box, dtype=vpfloat), gtx.zeros(box, dtype=vpfloat), gtx.zeros(box)
    _combine.with_backend(backend)(
        as_field((Cell, K), x), as_field((Cell, K), y), weight=2.0, out=out
    )

    plus, minus = x + y, x - y
    np.testing.assert_array_equal(out[0].asnumpy(), (plus + minus).astype(np.float32))
    np.testing.assert_array_equal(out[1].asnumpy(), (2.0 * plus - minus).astype(np.float32))
    np.testing.assert_array_equal(out[2].asnumpy(), plus * minus)


# --- 6: vertical shifts ---


@gtx.field_operator
def _to_half_levels(
    wgtfac: CellKField[wpfloat], x: CellKField[wpfloat]
) -> tuple[CellKField[wpfloat], CellKField[wpfloat]]:
    at_half = wgtfac * x + (wpfloat("1.0") - wgtfac) * x(K - 1)
    return at_half, (at_half - at_half(K + 1)) * x(K + 2)


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def to_half_levels(
    wgtfac: CellKField[wpfloat],
    x: CellKField[wpfloat],
    half: CellKField[wpfloat],
    change: CellKField[wpfloat],
    horizontal_start: int32,
    horizontal_end: int32,
    vertical_start: int32,
    vertical_end: int32,
):
    _to_half_levels(
        wgtfac,
        x,
        out=(half, change),
        domain=(
            {
                Cell: (horizontal_start, horizontal_end),
                K: (vertical_start + 1, vertical_end),
            },
            {
                Cell: (horizontal_start, horizontal_end),
                K: (vertical_start + 1, vertical_end - 2),
            },
        ),
    )


def test_step_06_half_levels(backend):
    w, x = data(Cell, K), data(Cell, K, seed=1)
    half, change = gtx.zeros({Cell: 4, K: LEVELS}), gtx.zeros({Cell: 4, K: LEVELS})
    call(
        to_half_levels, backend, wgtfac=as_field((Cell, K), w), x=as_field((Cell, K), x),
        half=half, change=change, **bounds(Cell),
    )  # fmt: skip

    at_half = np.zeros((4, LEVELS))
    at_half[:, 1:] = w[:, 1:] * x[:, 1:] + (1.0 - w[:, 1:]) * x[:, :-1]
    np.testing.assert_array_equal(half.asnumpy(), at_half)
    expected = np.zeros((4, LEVELS))
    expected[:, 1:-2] = (at_half[:, 1:-2] - at_half[:, 2:-1]) * x[:, 3:]
    np.testing.assert_array_equal(change.asnumpy(), expected)


# --- 7: reductions over neighbours ---


@gtx.field_operator
def _divergence_and_extremes(
    vn: EdgeKField[wpfloat],
    geofac_div: gtx.Field[gtx.Dims[Cell, C2EDim], wpfloat],
    x: CellKField[wpfloat],
    geofac_n2s: gtx.Field[gtx.Dims[Cell, C2CDim], wpfloat],
) -> tuple[CellKField[wpfloat], CellKField[wpfloat], CellKField[wpfloat], CellKField[wpfloat]]:
    div = neighbor_sum(geofac_div * vn(C2E), axis=C2EDim)
    nabla = neighbor_sum(geofac_n2s * (x(C2C) - x), axis=C2CDim)
    return div, nabla, max_over(x(C2C), axis=C2CDim), min_over(vn(C2E), axis=C2EDim)


def test_step_07_reductions_with_sparse_coefficients(backend):
    vn, geofac = data(Edge, K), data(Cell, C2EDim)
    x, n2s = data(Cell, K, seed=1), data(Cell, C2CDim, seed=2)
    out = tuple(gtx.zeros({Cell: 4, K: LEVELS}) for _ in range(4))
    _divergence_and_extremes.with_backend(backend)(
        as_field((Edge, K), vn), as_field((Cell, C2EDim), geofac), as_field((Cell, K), x),
        as_field((Cell, C2CDim), n2s), out=out, offset_provider=MESH,
    )  # fmt: skip

    there = (c2c >= 0)[:, :, None]
    differences = np.where(there, n2s[:, :, None] * (x[c2c] - x[:, None]), 0.0)
    for found, expected in zip(
        out,
        (
            (geofac[:, :, None] * vn[c2e]).sum(axis=1),
            differences.sum(axis=1),
            np.where(there, x[c2c], -np.inf).max(axis=1),
            vn[c2e].min(axis=1),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12, atol=1e-14)


# --- 8: one neighbour ---


@gtx.field_operator
def _rotation(
    u: VertexKField[wpfloat], inv_length: EdgeField[wpfloat], primal: EdgeField[wpfloat]
) -> EdgeKField[wpfloat]:
    tangential = (u(E2V[1]) - u(E2V[0])) * inv_length
    return tangential * primal + wpfloat("0.5") * (u(E2V[0]) + u(E2V[1]))


@gtx.field_operator
def _vorticity(
    u: VertexKField[wpfloat], inv_length: EdgeField[wpfloat], primal: EdgeField[wpfloat]
) -> VertexKField[wpfloat]:
    rotation = _rotation(u, inv_length, primal)
    return neighbor_sum(rotation(V2E), axis=V2EDim)


def test_step_08_single_neighbours_and_two_hops(backend):
    u, inv, primal = data(Vertex, K), data(Edge, seed=1), data(Edge, seed=2)
    arguments = as_field((Vertex, K), u), as_field((Edge,), inv), as_field((Edge,), primal)
    edges, vertices = gtx.zeros({Edge: 9, K: LEVELS}), gtx.zeros({Vertex: 6, K: LEVELS})
    _rotation.with_backend(backend)(*arguments, out=edges, offset_provider=MESH)
    _vorticity.with_backend(backend)(*arguments, out=vertices, offset_provider=MESH)

    first, second = u[e2v[:, 0]], u[e2v[:, 1]]
    expected = (second - first) * inv[:, None] * primal[:, None] + 0.5 * (first + second)
    np.testing.assert_allclose(edges.asnumpy(), expected, rtol=1e-14)
    summed = np.where((v2e >= 0)[:, :, None], expected[v2e], 0.0).sum(axis=1)
    np.testing.assert_allclose(vertices.asnumpy(), summed, rtol=1e-12, atol=1e-13)


# --- 9: broadcast ---


@gtx.field_operator
def _init_diagnostics(
    surface: CellField[wpfloat],
) -> tuple[CellKField[wpfloat], CellKField[wpfloat], KField[wpfloat]]:
    return (
        broadcast(surface, (Cell, K)),
        broadcast(wpfloat("0.0"), (Cell, K)),
        broadcast(PhysicsConstants.GRAV, (K,)),
    )


def test_step_09_broadcasts(backend):
    surface = data(Cell)
    out = gtx.ones({Cell: 4, K: LEVELS}), gtx.ones({Cell: 4, K: LEVELS}), gtx.ones({K: 3})
    _init_diagnostics.with_backend(backend)(as_field((Cell,), surface), out=out)

    np.testing.assert_array_equal(out[0].asnumpy(), np.tile(surface[:, None], LEVELS))
    assert not out[1].asnumpy().any()
    assert out[2].asnumpy().tolist() == [9.80665] * 3


# --- 10: elements of sparse fields ---


@gtx.field_operator
def _interpolate(
    x: CellKField[wpfloat], c_lin_e: gtx.Field[gtx.Dims[Edge, E2CDim], wpfloat]
) -> EdgeKField[wpfloat]:
    return c_lin_e[E2CDim(0)] * x(E2C[0]) + c_lin_e[E2CDim(1)] * x(E2C[1])


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def interpolate(
    x: CellKField[wpfloat],
    c_lin_e: gtx.Field[gtx.Dims[Edge, E2CDim], wpfloat],
    out: EdgeKField[wpfloat],
    horizontal_start: int32,
    horizontal_end: int32,
    vertical_start: int32,
    vertical_end: int32,
):
    _interpolate(
        x,
        c_lin_e,
        out=out,
        domain={Edge: (horizontal_start, horizontal_end), K: (vertical_start, vertical_end)},
    )


def test_step_10_interpolation_to_edges(backend):
    x, weights, out = data(Cell, K), data(Edge, E2CDim), gtx.zeros({Edge: 9, K: LEVELS})
    call(
        interpolate, backend, x=as_field((Cell, K), x),
        c_lin_e=as_field((Edge, E2CDim), weights), out=out, **bounds(Edge, 5, 8),
    )  # fmt: skip

    expected = np.zeros((9, LEVELS))
    inner = slice(5, 8)
    expected[inner] = (
        weights[inner, 0, None] * x[e2c[inner, 0]] + weights[inner, 1, None] * x[e2c[inner, 1]]
    )
    np.testing.assert_array_equal(out.asnumpy(), expected)


# --- 11: concat_where ---


@gtx.field_operator
def _vertical_flux(
    w: CellKField[wpfloat],
    surface: CellField[wpfloat],
    nlev: int32,
    end_of_damping: int32,
    first_cell: int32,
) -> CellKField[wpfloat]:
    interior = concat_where(
        (1 <= K) & (K < nlev - 1), wpfloat("0.5") * (w(K - 1) + w(K + 1)), wpfloat("0.0")
    )
    damped = concat_where(
        (maximum(2, end_of_damping - 2) <= K) & (K < nlev - 1), interior * w, interior
    )
    at_surface = concat_where(K == nlev - 1, surface, damped)
    return concat_where(Cell < first_cell, -at_surface, at_surface)


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def vertical_flux(
    w: CellKField[wpfloat],
    surface: CellField[wpfloat],
    out: CellKField[wpfloat],
    nlev: int32,
    end_of_damping: int32,
    first_cell: int32,
):
    _vertical_flux(w, surface, nlev, end_of_damping, first_cell, out=out)


def test_step_11_regions_with_bounds_from_arguments(backend):
    w, surface, out = data(Cell, K), data(Cell, seed=1), gtx.zeros({Cell: 4, K: LEVELS})
    call(
        vertical_flux, backend, w=as_field((Cell, K), w), surface=as_field((Cell,), surface),
        out=out, nlev=LEVELS, end_of_damping=5, first_cell=2,
    )  # fmt: skip

    expected = np.zeros((4, LEVELS))
    expected[:, 1:-1] = 0.5 * (w[:, :-2] + w[:, 2:])
    expected[:, 3:-1] *= w[:, 3:-1]
    expected[:, -1] = surface
    expected[:2] *= -1.0
    np.testing.assert_array_equal(out.asnumpy(), expected)


# --- 12: if and ternaries over scalars ---


@gtx.field_operator
def _upwind(x: CellKField[wpfloat]) -> CellKField[wpfloat]:
    return x - x(K - 1)


@gtx.field_operator
def _centred(x: CellKField[wpfloat]) -> CellKField[wpfloat]:
    return wpfloat("0.5") * (x(K + 1) - x(K - 1))


@gtx.field_operator
def _advect(
    x: CellKField[wpfloat], kind: int32, at_first_substep: bool, dt: wpfloat
) -> tuple[CellKField[wpfloat], CellKField[wpfloat]]:
    if kind == Advection.UPWIND:
        tendency = _upwind(x)
    elif kind == Advection.CENTRED:
        tendency = _centred(x)
    else:
        tendency = broadcast(wpfloat("0.0"), (Cell, K))
    previous = tendency if at_first_substep else tendency * wpfloat("2.0")
    if not at_first_substep:
        previous = previous + wpfloat("1.0")
    return x - dt * tendency, previous


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def advect(
    x: CellKField[wpfloat],
    kind: int32,
    at_first_substep: bool,
    dt: wpfloat,
    new: CellKField[wpfloat],
    previous: CellKField[wpfloat],
    vertical_start: int32,
    vertical_end: int32,
):
    _advect(
        x,
        kind,
        at_first_substep,
        dt,
        out=(new, previous),
        domain={Cell: (0, 4), K: (vertical_start, vertical_end)},
    )


def advected(x, kind, first):
    tendency = {
        Advection.OFF: np.zeros((4, LEVELS - 2)),
        Advection.UPWIND: x[:, 1:-1] - x[:, :-2],
        Advection.CENTRED: 0.5 * (x[:, 2:] - x[:, :-2]),
    }[kind]
    return x[:, 1:-1] - 0.1 * tendency, tendency if first else tendency * 2.0 + 1.0


@pytest.mark.parametrize("kind", Advection)
@pytest.mark.parametrize("first", [True, False])
def test_step_12_branches_on_arguments(backend, kind, first):
    x = data(Cell, K)
    new, previous = gtx.zeros({Cell: 4, K: LEVELS}), gtx.zeros({Cell: 4, K: LEVELS})
    call(
        advect, backend, x=as_field((Cell, K), x), kind=int32(kind), at_first_substep=first,
        dt=0.1, new=new, previous=previous, vertical_start=1, vertical_end=LEVELS - 1,
    )  # fmt: skip

    expected = advected(x, kind, first)
    np.testing.assert_allclose(new.asnumpy()[:, 1:-1], expected[0], rtol=1e-14)
    np.testing.assert_allclose(previous.asnumpy()[:, 1:-1], expected[1], rtol=1e-14)


def test_step_12_variants_are_compiled_before_the_time_loop(compiled):
    x = data(Cell, K)
    program = advect.with_backend(compiled).with_compilation_options(enable_jit=False)
    program.compile(
        offset_provider=MESH,
        kind=[int32(2)],
        at_first_substep=[False, True],
        vertical_start=[int32(1)],
        vertical_end=[int32(LEVELS - 1)],
    )
    gtx.wait_for_compilation()

    for first in (True, False):
        new, previous = gtx.zeros({Cell: 4, K: LEVELS}), gtx.zeros({Cell: 4, K: LEVELS})
        program(
            x=as_field((Cell, K), x), kind=int32(2), at_first_substep=first, dt=0.1, new=new,
            previous=previous, vertical_start=int32(1), vertical_end=int32(LEVELS - 1),
            offset_provider=MESH,
        )  # fmt: skip
        expected = advected(x, Advection.CENTRED, first)
        np.testing.assert_allclose(new.asnumpy()[:, 1:-1], expected[0], rtol=1e-14)
        np.testing.assert_allclose(previous.asnumpy()[:, 1:-1], expected[1], rtol=1e-14)


# --- 13: scans ---


@gtx.scan_operator(axis=K, forward=True, init=(vpfloat("0.0"), wpfloat("0.0"), True))
def _tridiagonal_forward(
    state: tuple[vpfloat, wpfloat, bool], a: vpfloat, b: vpfloat, c: vpfloat, d: wpfloat
) -> tuple[vpfloat, wpfloat, bool]:
    c_up, d_up, at_top = state
    norm = vpfloat("1.0") / (b if at_top else b + a * c_up)
    c_new = -c * norm
    d_new = (d if at_top else d - astype(a, wpfloat) * d_up) * astype(norm, wpfloat)
    return c_new, d_new, False


@gtx.scan_operator(axis=K, forward=False, init=wpfloat("0.0"))
def _tridiagonal_back(state: wpfloat, c: vpfloat, d: wpfloat) -> wpfloat:
    return d + astype(c, wpfloat) * state


@gtx.field_operator
def _solve(
    a: CellKField[vpfloat], b: CellKField[vpfloat], c: CellKField[vpfloat], w: CellKField[wpfloat]
) -> CellKField[wpfloat]:
    c_prime, d_prime, _ = _tridiagonal_forward(a=a, b=b, c=c, d=w * wpfloat("2.0"))
    return wpfloat("0.5") * _tridiagonal_back(c_prime, d_prime)


def test_step_13_a_tridiagonal_solver_in_two_scans(backend):
    a = data(Cell, K, low=-0.3, high=0.3).astype(np.float32)
    c = data(Cell, K, seed=1, low=-0.3, high=0.3).astype(np.float32)
    b = data(Cell, K, seed=2, low=1.5, high=2.5).astype(np.float32)
    w, out = data(Cell, K, seed=3), gtx.zeros({Cell: 4, K: LEVELS})
    _solve.with_backend(backend)(*(as_field((Cell, K), x) for x in (a, b, c, w)), out=out)

    for i in range(4):
        matrix = np.diag(b[i]) + np.diag(a[i, 1:], -1) + np.diag(c[i, :-1], 1)
        exact = np.linalg.solve(matrix.astype(np.float64), w[i])
        np.testing.assert_allclose(out.asnumpy()[i], exact, rtol=2e-5)


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


# --- 14: data-dependent offsets ---


@gtx.field_operator
def _truly_horizontal(
    theta: CellKField[wpfloat],
    offset: gtx.Field[gtx.Dims[Edge, E2CDim, K], int32],
    weight: gtx.Field[gtx.Dims[Edge, E2CDim, K], wpfloat],
    mask: EdgeKField[bool],
) -> EdgeKField[wpfloat]:
    first = theta(E2C[0])(as_offset(Koff, offset[E2CDim(0)]))
    below = theta(E2C[0])(as_offset(Koff, offset[E2CDim(0)] + 1))
    mixed = weight[E2CDim(0)] * first + (wpfloat("1.0") - weight[E2CDim(0)]) * below
    return where(mask, mixed, theta(E2C[0]))


def test_step_14_interpolation_at_levels_from_a_field(backend):
    theta, weight = data(Cell, K), data(Edge, E2CDim, K)
    mask = data(Edge, K) > 0
    levels = np.broadcast_to(np.arange(LEVELS), (9, 2, LEVELS))
    target = np.random.default_rng(1).integers(0, LEVELS - 1, (9, 2, LEVELS))
    out = gtx.zeros({Edge: 9, K: LEVELS})
    _truly_horizontal.with_backend(backend)(
        as_field((Cell, K), theta), as_field((Edge, E2CDim, K), target - levels, int32),
        as_field((Edge, E2CDim, K), weight), as_field((Edge, K), mask), out=out,
        offset_provider=MESH,
    )  # fmt: skip

    cells = np.broadcast_to(e2c[:, 0, None], (9, LEVELS))
    first, below = theta[cells, target[:, 0]], theta[cells, target[:, 0] + 1]
    mixed = weight[:, 0] * first + (1.0 - weight[:, 0]) * below
    np.testing.assert_allclose(
        out.asnumpy(), np.where(mask, mixed, theta[e2c[:, 0]]), rtol=1e-14, atol=1e-15
    )


# --- 15: slices of outputs, fields of unequal length ---


@gtx.field_operator
def _smagorinsky(
    kh: CellKField[wpfloat], x: CellKField[wpfloat]
) -> tuple[CellKField[wpfloat], CellKField[wpfloat]]:
    return kh(K - 1) + kh, maximum(kh * x, wpfloat("0.0"))


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def smagorinsky(
    kh: CellKField[wpfloat],
    x: CellKField[wpfloat],
    div_ic: CellKField[wpfloat],
    hdef: CellKField[wpfloat],
):
    _smagorinsky(kh, x, out=(div_ic[:, 1:-1], hdef[:, :]))


def test_step_15_sliced_outputs_on_full_and_half_levels(backend):
    kh, x = data(Cell, K), data(Cell, K, seed=1)
    div_ic = gtx.full({Cell: 4, K: LEVELS + 1}, 9.0)
    hdef = gtx.zeros({Cell: 4, K: LEVELS})
    call(
        smagorinsky, backend, kh=as_field((Cell, K), kh), x=as_field((Cell, K), x),
        div_ic=div_ic, hdef=hdef,
    )  # fmt: skip

    expected = np.full((4, LEVELS + 1), 9.0)
    expected[:, 1:-1] = kh[:, :-1] + kh[:, 1:]
    np.testing.assert_array_equal(div_ic.asnumpy(), expected)
    np.testing.assert_array_equal(hdef.asnumpy(), np.maximum(kh * x, 0.0))


# --- 16: named tuples ---


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


# --- the framework around them ---


def test_programs_are_set_up_with_partials_and_bound_arguments(backend):
    import functools

    x, weights, out = data(Cell, K), data(Edge, E2CDim), gtx.zeros({Edge: 9, K: LEVELS})
    program = functools.partial(
        interpolate.with_backend(backend), c_lin_e=as_field((Edge, E2CDim), weights),
        **bounds(Edge, 5, 8), offset_provider=MESH,
    )  # fmt: skip
    program(x=as_field((Cell, K), x), out=out)

    assert out.asnumpy()[5:8].all()
    assert not out.asnumpy()[:5].any()


def test_an_update_in_place_reads_first(backend):
    @gtx.field_operator
    def _relax(x: CellKField[wpfloat]) -> CellKField[wpfloat]:
        return x + wpfloat("0.5") * neighbor_sum(x(C2C) - x, axis=C2CDim)

    x = data(Cell, K)
    field = as_field((Cell, K), x)
    _relax.with_backend(backend)(field, out=field, offset_provider=MESH)

    there = (c2c >= 0)[:, :, None]
    expected = x + 0.5 * np.where(there, x[c2c] - x[:, None], 0.0).sum(axis=1)
    np.testing.assert_allclose(field.asnumpy(), expected, rtol=1e-13, atol=1e-14)


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
