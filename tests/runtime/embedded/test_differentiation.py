"""`jvp` and `vjp`: the tape against differences, against each other, and at its edges."""

import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import (
    broadcast,
    float64,
    int32,
    max_over,
    maximum,
    minimum,
    neighbor_sum,
    sqrt,
    where,
)
from fieldforge.experimental import as_offset, concat_where
from fieldforge.runtime.language.structure import leaves_of

I = ff.Dimension("I")
K = ff.Dimension("K", ff.DimensionKind.VERTICAL)
Cell, Edge = ff.Dimension("Cell"), ff.Dimension("Edge")
C2EDim = ff.Dimension("C2E", ff.DimensionKind.LOCAL)
C2E = ff.FieldOffset("C2E", source=Edge, target=(Cell, C2EDim))
Koff = ff.FieldOffset("Koff", source=K, target=(K,))
Line = ff.Field[ff.Dims[I], float64]
Column = ff.Field[ff.Dims[K], float64]
Plane = ff.Field[ff.Dims[I, K], float64]
Cells, Edges = ff.Field[ff.Dims[Cell], float64], ff.Field[ff.Dims[Edge], float64]
Sparse = ff.Field[ff.Dims[Cell, C2EDim], float64]


@ff.field_operator(backend=None)
def limited(u: Line, dt: float) -> Line:
    rise = u(I + 1) - 2.0 * u + u(I - 1)
    bent = where(rise > 0.0, sqrt(rise), maximum(rise, -0.5) * u)
    return concat_where(I < 5, bent * dt, 3.0)


@ff.scan_operator(axis=K, forward=True, init=(0.0, 1.0))
def bounded(state: tuple[float, float], a: float, b: float) -> tuple[float, float]:
    z = a * state[0] + b
    if z > 0.5:
        z = 0.5 + 0.1 * z * z
    return z, 0.5 * state[1] * z + a


@ff.field_operator(backend=None)
def swept(pair: tuple[Plane, Plane], surface: Line) -> Plane:
    first, second = bounded(pair[0], pair[1] * surface)
    return first * second


@ff.field_operator(backend=None)
def gathered(e: Edges, w: Sparse) -> Cells:
    return neighbor_sum(w * e(C2E), axis=C2EDim) + max_over(e(C2E), axis=C2EDim) * e(C2E[0])


@ff.field_operator(backend=None)
def displaced(u: Column, by: ff.Field[ff.Dims[K], int32]) -> Column:
    return u(as_offset(Koff, by)) * u


@ff.field_operator(backend=None)
def repeated(c: Column, u: Line) -> Plane:
    return broadcast(c, (I, K)) * u


@ff.field_operator(backend=None)
def moved(u: Line) -> Line:
    return u * u(I - 1)


@ff.program(backend=None)
def in_place(u: Line, v: Line, n: int32):
    moved(u, out=v[1:])
    moved(v, out=u, domain={I: (2, n)})
    moved(u, out=v, domain={I: (3, n)})


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


TABLE = ff.as_connectivity(
    [Cell, C2EDim], Edge, np.array([[0, 1, 2], [2, 3, 0], [4, 1, 3]], np.int32)
)
CASES = {
    "shifts": (limited, {"u": ff.as_field({I: (-1, 9)}, draw(10)), "dt": 0.7}, {I: (0, 8)}, {}),
    "scan": (
        swept,
        {
            "pair": (ff.as_field([I, K], draw(3, 5)), ff.as_field([I, K], draw(3, 5, seed=1))),
            "surface": ff.as_field([I], draw(3)),
        },
        {I: 3, K: 5},
        {},
    ),
    "neighbours": (
        gathered,
        {"e": ff.as_field([Edge], draw(5)), "w": ff.as_field([Cell, C2EDim], draw(3, 3))},
        None,
        {"C2E": TABLE},
    ),
    "displacement": (
        displaced,
        {
            "u": ff.as_field([K], draw(4)),
            "by": ff.as_field([K], np.array([3, 1, -1, -3], np.int32)),
        },
        {K: 4},
        {"Koff": K},
    ),
    "broadcast": (repeated, {"c": ff.as_field([K], draw(3)), "u": ff.as_field([I], draw(2))},
                  {I: 2, K: 3}, {}),
    "program": (
        in_place,
        {"u": ff.as_field([I], draw(7)), "v": ff.as_field([I], draw(7, seed=1)), "n": 6},
        None,
        {},
    ),
}  # fmt: skip


def floats(value):
    return [leaf for _, leaf in leaves_of(value) if leaf is not None and not isinstance(leaf, int)]


def numbers(value):
    """Return all float leaves of arguments or results, one after the other."""
    given = value.values() if isinstance(value, dict) else [value]
    leaves = [leaf for each in given for leaf in floats(each)]
    arrays = [leaf.asnumpy() if hasattr(leaf, "asnumpy") else np.array(leaf) for leaf in leaves]
    return np.concatenate([a.ravel() for a in arrays if a.dtype.kind == "f"])


def like(value, rng):
    """Return random tangents for arguments or results."""
    match value:
        case dict():
            return {name: like(each, rng) for name, each in value.items()}
        case tuple():
            return tuple(like(each, rng) for each in value)
        case int() | None:
            return None
        case float():
            return rng.normal()
    if value.dtype.dtype.kind != "f":
        return None
    return ff.as_field(value.domain, rng.normal(size=value.shape))


def moved_by(value, tangent, h):
    match value:
        case dict():
            return {name: moved_by(each, tangent[name], h) for name, each in value.items()}
        case tuple():
            return tuple(moved_by(*both, h) for both in zip(value, tangent, strict=True))
    if tangent is None:
        return value
    if isinstance(value, float):
        return value + h * tangent
    return ff.as_field(value.domain, value.asnumpy() + h * tangent.asnumpy())


@pytest.mark.parametrize("case", CASES)
def test_the_tangent_agrees_with_differences(case):
    function, primals, domain, provider = CASES[case]
    given = {"domain": domain, "offset_provider": provider}
    tangents = like(primals, np.random.default_rng(3))

    out_d = numbers(ff.jvp(function, primals, tangents, **given)[1])

    def at(h):
        return numbers(ff.vjp(function, moved_by(primals, tangents, h), **given)[0])

    h = 1e-4
    fourth_order = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    np.testing.assert_allclose(out_d, fourth_order, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_tangent_and_adjoint_are_transposed(case):
    function, primals, domain, provider = CASES[case]
    given = {"domain": domain, "offset_provider": provider}
    rng = np.random.default_rng(4)
    tangents = like(primals, rng)

    out, out_d = ff.jvp(function, primals, tangents, **given)
    _, pull = ff.vjp(function, primals, **given)
    out_b = like(out, rng)
    found = pull(out_b)

    wanted = {name: each for name, each in tangents.items() if each is not None}
    left = numbers(out_b) * numbers(out_d)
    right = numbers({name: found[name] for name in wanted}) * numbers(wanted)
    scale = np.abs(left).sum() + np.abs(right).sum()
    assert abs(left.sum() - right.sum()) <= 10 * np.finfo(float).eps * scale


def test_the_result_is_that_of_a_call():
    function, primals, domain, _ = CASES["shifts"]
    out = ff.zeros({I: (0, 8)})
    function(**primals, out=out)

    found, _ = ff.vjp(function, primals, domain=domain)

    assert found.asnumpy().tobytes() == out.asnumpy().tobytes()


def test_a_program_leaves_its_arguments_alone():
    function, primals, _, _ = CASES["program"]
    before = primals["u"].asnumpy().copy()
    u, v = (ff.as_field([I], primals[name].asnumpy()) for name in "uv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # embedded execution says that it is slow
        function(u, v, 6)

    found, _ = ff.vjp(function, primals)

    assert sorted(found) == ["u", "v"]
    np.testing.assert_array_equal(found["u"].asnumpy(), u.asnumpy())
    np.testing.assert_array_equal(found["v"].asnumpy(), v.asnumpy())
    np.testing.assert_array_equal(primals["u"].asnumpy(), before)


def test_adjoints_come_as_the_arguments_were_given():
    u = ff.ones({I: 3})

    by_name = ff.vjp(moved, {"u": u})[1](np.ones(2))
    in_order = ff.vjp(moved, [u])[1](np.ones(2))

    assert by_name["u"].asnumpy().tolist() == [1.0, 2.0, 1.0]
    assert in_order[0].asnumpy().tolist() == [1.0, 2.0, 1.0]


def test_integers_have_no_adjoint():
    function, primals, domain, provider = CASES["displacement"]

    _, pull = ff.vjp(function, primals, domain=domain, offset_provider=provider)

    assert pull(np.ones(4))["by"] is None


@ff.field_operator(backend=None)
def guarded(u: Line) -> Line:
    inverse = where(u > 0.0, 1.0 / u, 0.0)
    root = where(u > 0.0, sqrt(u), 0.0)
    length = sqrt(u * u)
    hidden = minimum(1.0 / u, 5.0)
    return inverse + root + length + hidden


def test_nothing_leaks_from_an_untaken_branch():
    u = ff.as_field([I], [0.0, 4.0])

    (u_b,) = ff.vjp(guarded, [u])[1](np.ones(2))
    _, u_d = ff.jvp(guarded, [u], [ff.ones({I: 2})])

    expected = [0.0, -1 / 16 + 1 / 4 + 1.0 - 1 / 16]
    np.testing.assert_allclose(u_b.asnumpy(), expected)
    np.testing.assert_allclose(u_d.asnumpy(), expected)


@ff.field_operator(backend=None)
def of_gamma(u: Line) -> Line:
    return ff.gamma(u)


def test_an_operation_without_derivative_is_named():
    with pytest.raises(ff.errors.DerivativeError, match="derivative of 'gamma' is not there yet"):
        ff.vjp(of_gamma, [ff.ones({I: 2})])


def test_a_derivative_of_another_shape_is_refused():
    _, pull = ff.vjp(moved, [ff.ones({I: 3})])

    with pytest.raises(ff.errors.ArgumentError, match=r"shape \(2,\) for 'the result', got \(3,\)"):
        pull(np.ones(3))


def test_an_unknown_argument_is_named():
    with pytest.raises(ff.errors.ArgumentError, match="'w' is no argument"):
        ff.jvp(moved, {"u": ff.ones({I: 3})}, {"w": ff.ones({I: 3})})
