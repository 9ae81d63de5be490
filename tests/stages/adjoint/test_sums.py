"""Adjoints of what lacks dimensions of its user: sums in one order, without atomics."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float32, float64, sqrt, where

from ...derivative_cases import I, K, copied

Plane = ff.Field[ff.Dims[I, K], float64]
Line = ff.Field[ff.Dims[I], float64]
Profile = ff.Field[ff.Dims[K], float64]
Single = ff.Field[ff.Dims[I, K], float32]
BACKENDS = {"interpreted": None, "rows": "rows", "gpu-host": ff.gpu_host, "cpu": "cpu"}


@ff.field_operator(backend=None)
def mixed(u: Plane, floor: Line, profile: Profile, dt: float64) -> Plane:
    root = where(profile > 0.0, sqrt(profile), floor)  # NaN and infinite slopes in the other branch
    return root * u(I + 1) * dt + floor * profile / dt


@ff.program(backend=None)
def mix(u: Plane, floor: Line, profile: Profile, dt: float64, out: Plane):
    mixed(u, floor, profile, dt, out=out)


NAMES = ("u", "floor", "profile", "dt")


def primals(count=5, levels=4):
    rng = np.random.default_rng(0)
    profile = np.array([1.0, -2.0, 0.0, 3.0])[:levels]
    return {
        "u": ff.as_field([I, K], rng.normal(size=(count + 1, levels))),
        "floor": ff.as_field([I], rng.normal(size=count)),
        "profile": ff.as_field([K], profile),
        "dt": np.float64(1.5),
        "out": ff.zeros({I: count, K: levels}),
    }


def adjoint_of(program, given, out_b, fill=np.nan, **options):
    run = ff.adjoint(program, wrt=NAMES, **options)
    domains = {name: given[name].domain if name != "dt" else {} for name in NAMES}
    found = {f"{name}_b": ff.full(domains[name], fill) for name in NAMES}
    run(**{name: given[name] for name in NAMES}, out_b=out_b, **found)
    return {name: found[f"{name}_b"].asnumpy() for name in NAMES}


@pytest.mark.parametrize("name", BACKENDS)
def test_sums_agree_with_the_tape(name):
    given = primals()
    out_b = ff.as_field([I, K], np.random.default_rng(1).normal(size=(5, 4)))
    _, pull = ff.vjp(mix, given)
    expected = pull({"out": out_b})

    found = adjoint_of(mix.with_backend(BACKENDS[name]), given, out_b)

    for each in NAMES:
        wanted = expected[each] if each == "dt" else expected[each].asnumpy()
        np.testing.assert_allclose(found[each], wanted, rtol=1e-14, atol=1e-14)


@ff.program(backend=None)
def mix_between(
    u: Plane, floor: Line, profile: Profile, dt: float64, lo: ff.int32, hi: ff.int32, out: Plane
):
    mixed(u, floor, profile, dt, out=out, domain={I: (lo, hi), K: (0, 4)})


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("ends", [(1, 4), (2, 2), (4, 1)], ids=["some", "empty", "less than empty"])
def test_a_sum_over_an_empty_range_is_0(name, ends):
    given = primals()
    run = ff.adjoint(mix_between.with_backend(BACKENDS[name]), wrt=("dt", "profile"))
    dt_b, profile_b = ff.full({}, np.nan), ff.full({K: 4}, np.nan)
    inputs = {each: given[each] for each in NAMES}

    bounds = {"lo": np.int32(ends[0]), "hi": np.int32(ends[1])}
    out_b = ff.ones({I: 5, K: 4})
    run(**inputs, **bounds, out_b=out_b, dt_b=dt_b, profile_b=profile_b)

    u, floor, profile, _ = (np.asarray(getattr(each, "ndarray", each)) for each in inputs.values())
    rows = slice(*ends)
    root = np.where(profile > 0.0, np.sqrt(np.abs(profile)), floor[:, None])
    slopes = root * u[1:] - floor[:, None] * profile / 1.5**2
    np.testing.assert_allclose(dt_b.asnumpy(), slopes[rows].sum(), rtol=1e-13)
    assert np.isfinite(profile_b.asnumpy()).all()
    assert profile_b.asnumpy().any() == (ends[0] < ends[1])


def test_adjoints_of_scalars_add_to_what_is_there():
    given, out_b = primals(), ff.ones({I: 5, K: 4})
    whole = adjoint_of(mix, given, out_b)["dt"]

    found = adjoint_of(mix, given, out_b, fill=2.0, accumulate=("dt",))["dt"]

    assert found == pytest.approx(2.0 + whole, rel=1e-15)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize(("count", "levels"), [(0, 4), (5, 0), (1, 1)])
def test_empty_sums_are_zero(name, count, levels):
    given, out_b = primals(count, levels), ff.ones({I: count, K: levels})

    found = adjoint_of(mix.with_backend(BACKENDS[name]), given, out_b)

    if count * levels == 0:
        assert not any(found[each].any() for each in NAMES)
    else:
        assert found["dt"] != 0.0
        assert np.isfinite(found["dt"])


INFINITE = float64("inf")


@ff.field_operator(backend=None)
def endless(u: Plane, floor: Line, x: float64) -> Plane:
    return u * (floor * INFINITE) + INFINITE / x


@ff.program(backend=None)
def never_end(u: Plane, floor: Line, x: float64, lo: ff.int32, hi: ff.int32, out: Plane):
    endless(u, floor, x, out=out, domain={I: (0, 5), K: (lo, hi)})


@pytest.mark.parametrize("name", BACKENDS)
def test_an_infinite_slope_of_an_empty_sum_counts_as_0(name):
    u, floor, ends = ff.ones({I: 5, K: 4}), ff.ones({I: 5}), (np.int32(2), np.int32(2))
    x_b, floor_b = ff.full({}, np.nan), ff.full({I: 5}, np.nan)

    run = ff.adjoint(never_end.with_backend(BACKENDS[name]), wrt=("floor", "x"))
    run(u, floor, np.float64(2.0), *ends, ff.ones({I: 5, K: 4}), floor_b, x_b)

    assert x_b.asnumpy() == 0.0
    assert floor_b.asnumpy().tolist() == [0.0] * 5


@ff.field_operator(backend=None)
def scaled(u: Single, by: float32) -> Single:
    return by * u


@ff.program(backend=None)
def scale(u: Single, by: float32, out: Single):
    scaled(u, by, out=out)


def test_sums_of_single_precision_are_computed_in_double():
    u = np.full((4096, 2), 0.1, np.float32)
    u[0] = 2.0**20
    by_b = ff.zeros({}, np.float32)

    ff.adjoint(scale, wrt=("by",)).with_backend("rows")(
        ff.as_field([I, K], u), np.float32(2.0), ff.ones({I: 4096, K: 2}, np.float32), by_b
    )

    assert by_b.asnumpy() == np.float32(u.astype(np.float64).sum())
    assert by_b.asnumpy() != np.cumsum(u.T.ravel())[-1]  # what single precision would give


@ff.scan_operator(axis=K, forward=False, init=0.0, backend=None)
def decaying(state: float64, a: float64, rate: float64) -> float64:
    return a + rate * state * state


@ff.field_operator(backend=None)
def decayed(a: Plane, rate: float64) -> Plane:
    return decaying(a, rate)


@ff.program(backend=None)
def decay(a: Plane, rate: float64, out: Plane):
    decayed(a, rate, out=out)


@pytest.mark.parametrize("name", BACKENDS)
def test_scalars_in_scans_have_adjoints(name):
    a = ff.as_field([I, K], np.random.default_rng(2).normal(size=(3, 5)))
    given = {"a": a, "rate": np.float64(0.3), "out": ff.zeros(a.domain)}
    out_b = ff.as_field([I, K], np.random.default_rng(3).normal(size=(3, 5)))
    _, pull = ff.vjp(decay, given)
    expected = pull({"out": out_b})
    a_b, rate_b = copied(a), ff.full({}, np.nan)

    run = ff.adjoint(decay, wrt=("a", "rate")).with_backend(BACKENDS[name])
    run(a, given["rate"], out_b, a_b, rate_b)

    np.testing.assert_allclose(a_b.asnumpy(), expected["a"].asnumpy(), rtol=1e-13)
    np.testing.assert_allclose(rate_b.asnumpy(), expected["rate"], rtol=1e-13)


@ff.field_operator(backend=None)
def hidden(profile: Profile, u: Plane) -> Plane:
    return where(u > 0.0, u * profile(K - 2), u * profile * profile)


@ff.program(backend=None)
def hide(profile: Profile, u: Plane, out: Plane):
    hidden(profile, u, out=out, domain={I: (0, 5), K: (0, 6)})


@pytest.mark.parametrize("name", BACKENDS)
def test_reads_that_where_hides_may_leave_the_field_in_sums_along_rows(name):
    given = {
        "profile": ff.as_field(ff.domain({K: (-2, 4)}), np.arange(1.0, 7.0)),
        "u": ff.ones({I: 5, K: 6}),  # takes 'profile' at K - 2 everywhere; it ends at level 3
        "out": ff.zeros({I: 5, K: 6}),
    }
    seed = ff.as_field([I, K], np.arange(30.0).reshape(5, 6))
    _, pull = ff.vjp(hide, given)
    meant = pull({"out": seed})["profile"].asnumpy()
    run = ff.adjoint(hide, wrt=("profile",)).with_backend(BACKENDS[name] or ff.reference)
    found = ff.full({K: (-2, 4)}, np.nan)
    del given["out"]

    run(**given, out_b=seed, profile_b=found)

    assert found.asnumpy().tobytes() == meant.tobytes()
