"""`adjoint`: programs that run backwards, against the tape of embedded execution."""

import inspect
import pickle

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, maximum, minimum, sqrt, where
from fieldforge.examples import tridiagonal
from fieldforge.experimental import concat_where
from fieldforge.runtime.process.errors import DomainError

from ...derivative_cases import (
    I,
    K,
    Line,
    bounded,
    copied,
    displace,
    in_place,
    like,
    numbers,
    square,
    squared,
)
from ...dimensions import J, Plane

IH = ff.flip_staggered(I)
Faces = ff.Field[ff.Dims[IH], float64]
BACKENDS = {"interpreted": None, "rows": "rows", "gpu-host": ff.gpu_host, "cpu": "cpu"}


@ff.field_operator(backend=None)
def laplacian(u: Plane) -> Plane:
    return -4.0 * u + u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1)


@ff.field_operator(backend=None)
def diffused(u: Plane, coeff: Plane) -> Plane:
    lap = laplacian(u)
    x = lap(I + 1) - lap
    x = where(x * (u(I + 1) - u) > 0.0, 0.0, x)
    y = lap(J + 1) - lap
    y = where(y * (u(J + 1) - u) > 0.0, 0.0, y)
    return u - coeff * (x - x(I - 1) + y - y(J - 1))


@ff.program(backend=None)
def diffusion(u: Plane, coeff: Plane, out: Plane):
    diffused(u, coeff, out=out)


@ff.field_operator(backend=None)
def bent(u: Line) -> Line:
    rise = u(I + 1) - 2.0 * u + u(I - 1)
    inner = where(rise > 0.0, sqrt(rise), maximum(rise, -0.5) * u)
    return concat_where(I < 5, inner, concat_where(I < 6, 2.0 * u, u * u))


@ff.program(backend=None)
def piecewise(u: Line, out: Line):
    bent(u, out=out)


@ff.field_operator(backend=None)
def guarded(u: Line) -> Line:
    inverse = where(u > 0.0, 1.0 / u, 0.0)
    return inverse + where(u > 0.0, sqrt(u), 0.0) + sqrt(u * u) + minimum(1.0 / u, 5.0)


@ff.program(backend=None)
def guards(u: Line, out: Line):
    guarded(u, out=out)


@ff.field_operator(backend=None)
def halves(u: Line) -> Faces:
    return u(IH + 0.5) * u(IH - 0.5)


@ff.field_operator(backend=None)
def back(v: Faces, u: Line) -> Line:
    return v(I + 0.5) - v(I - 0.5) * u


@ff.program(backend=None)
def staggered(u: Line, v: Faces, out: Line):
    halves(u, out=v)
    back(v, u, out=out)


@ff.field_operator(backend=None)
def doubled(u: Line) -> Line:
    return 2.0 * u(I + 1)


@ff.program(backend=None)
def linear(u: Line, out: Line):
    doubled(u, out=out)


Levels = ff.Field[ff.Dims[I, K], float64]


@ff.field_operator(backend=None)
def walked(a: Levels, b: Levels) -> Levels:
    first, second = bounded(a, b)
    return first * second + a


@ff.program(backend=None)
def walk(a: Levels, b: Levels, out: Levels):
    walked(a, b, out=out)


@ff.scan_operator(axis=K, forward=False, init=0.0, backend=None)
def fading(state: float64, a: float64, half: float64) -> float64:
    return (sqrt(a) if a > 0.0 else half) + half * state


@ff.field_operator(backend=None)
def faded(a: Levels) -> Levels:
    return concat_where(K > 1, fading(a, 0.5 * a), a * a)


@ff.program(backend=None)
def fade(a: Levels, out: Levels):
    faded(a, out=out)


def levels(seed, above=0.0):
    numbers = np.random.default_rng(seed).normal(size=(3, 2, 6)) + above
    return ff.as_field([tridiagonal.I, tridiagonal.J, tridiagonal.K], numbers)


def field(*ranges, seed=0):
    dims = (I, J)[: len(ranges)]
    numbers = np.random.default_rng(seed).normal(size=[stop - start for start, stop in ranges])
    return ff.as_field(dict(zip(dims, ranges, strict=True)), numbers)


CASES = {
    "diffusion": (
        diffusion,
        {
            "u": field((-3, 9), (-2, 8)),
            "coeff": field((0, 6), (0, 6)),
            "out": field((0, 6), (0, 6)),
        },
    ),
    "pieces": (piecewise, {"u": field((-1, 9)), "out": field((0, 8))}),
    "guards": (guards, {"u": ff.as_field([I], [0.0, 4.0, -1.0]), "out": field((0, 3))}),
    "in place": (in_place, {"u": field((0, 7)), "v": field((0, 7), seed=1), "n": 6}),
    "one point": (diffusion, {"u": field((-2, 3), (-2, 3)), "coeff": field((0, 1), (0, 1)),
                              "out": field((0, 1), (0, 1))}),
    "two states": (
        walk,
        {
            name: ff.as_field([I, K], np.random.default_rng(seed).normal(size=(3, 5)))
            for seed, name in enumerate(("a", "b", "out"))
        },
    ),
    "upwards in a branch": (
        fade,
        {
            name: ff.as_field([I, K], np.random.default_rng(seed).normal(size=(2, 6)))
            for seed, name in enumerate(("a", "out"))
        },
    ),
    "tridiagonal": (
        tridiagonal.solve.with_backend(None),
        {name: levels(seed, 5.0 * (name == "b")) for seed, name in enumerate("abcdx")},
    ),
    "staggered": (
        staggered,
        {
            "u": field((0, 6)),
            "v": ff.as_field({IH: (1, 6)}, np.arange(5.0)),
            "out": field((1, 5)),
        },
    ),
}  # fmt: skip


def arguments(program, primals, given):
    """Return arguments of an adjoint: what is only written is poisoned."""
    found = {}
    for name in inspect.signature(program.definition).parameters:
        own = name.removesuffix("_b")
        if name in primals:
            found[name] = copied(primals[name])
        elif own in given:
            found[name] = copied(given[own])
        else:
            domain = primals[own].domain
            found[name] = ff.as_field(domain, np.full(primals[own].shape, np.nan))
    return found


@pytest.mark.parametrize(
    ("case", "backend"),
    [
        *((case, name) for case in CASES for name in ("interpreted", "rows")),
        ("diffusion", "gpu-host"),
        ("in place", "cpu"),
        ("two states", "cpu"),
    ],
)
def test_an_adjoint_agrees_with_the_tape(case, backend):
    program, primals = CASES[case]
    out, pull = ff.vjp(program, primals)
    given = like(out, np.random.default_rng(1))
    expected = pull(given)

    derived = ff.adjoint(program).with_backend(BACKENDS[backend])
    found = arguments(derived, primals, given)
    derived(**found)

    for name in derived._made.derived.stages[0].wrt:
        np.testing.assert_allclose(
            found[f"{name}_b"].asnumpy(), expected[name].asnumpy(), rtol=1e-12, atol=1e-13
        )


@pytest.mark.parametrize("case", [case for case in CASES if case != "guards"])
def test_tangent_and_adjoint_are_transposed(case):
    program, primals = CASES[case]
    moved, run = ff.tangent(program), ff.adjoint(program)
    stage = run._made.derived.stages[0]
    rng = np.random.default_rng(2)
    tangents = {name: like(primals[name], rng) for name in stage.wrt}
    ahead = {}
    for name in inspect.signature(moved.definition).parameters:
        own = name.removesuffix("_d")
        still = ff.zeros(primals[own].domain) if hasattr(primals[own], "domain") else None
        ahead[name] = copied(primals[name] if name in primals else tangents.get(own, still))
    moved(**ahead)
    given = {name: like(primals[name], rng) for name in stage.of}
    back_again = arguments(run, primals, given)
    run(**back_again)

    left = numbers(given) * numbers({name: ahead[f"{name}_d"] for name in stage.of})
    right = numbers({n: back_again[f"{n}_b"] for n in stage.wrt}) * numbers(tangents)
    scale = np.abs(left).sum() + np.abs(right).sum()
    assert abs(left.sum() - right.sum()) <= 10 * np.finfo(float).eps * scale


@pytest.mark.parametrize("case", ["diffusion", "in place"])
def test_outputs_that_are_written_too_have_the_bits_of_the_program(case):
    program, primals = CASES[case]
    plain = {name: copied(each) for name, each in primals.items()}
    program.with_backend("rows")(**plain)
    run = ff.adjoint(program, value=True).with_backend("rows")
    found = arguments(run, primals, {"out": field((0, 6), (0, 6)), "u": primals["u"]})

    run(**found)

    for name in run._made.derived.stages[0].of:
        assert found[name].asnumpy().tobytes() == plain[name].asnumpy().tobytes()


def test_the_adjoint_runs_on_the_emulated_device_with_the_same_bits():
    program, primals = CASES["diffusion"]
    given = {"out": field((0, 6), (0, 6), seed=3)}
    results = []
    for backend in ("rows", "cpu", ff.gpu_host):
        run = ff.adjoint(program).with_backend(backend)
        found = arguments(run, primals, given)
        run(**found)
        results.append(found["u_b"].asnumpy().tobytes())

    assert results[0] == results[1] == results[2]


def test_parameters_are_inputs_then_adjoints():
    def names(program):
        return list(inspect.signature(program.definition).parameters)

    assert names(ff.adjoint(diffusion)) == ["u", "coeff", "out_b", "u_b", "coeff_b"]
    assert names(ff.adjoint(diffusion, wrt=("coeff",))) == ["u", "coeff", "out_b", "coeff_b"]
    assert names(ff.adjoint(in_place)) == ["u", "v", "n", "u_b", "v_b"]
    assert names(ff.adjoint(diffusion, value=True, names="adj_{}")) == [
        "u", "coeff", "out", "adj_out", "adj_u", "adj_coeff",
    ]  # fmt: skip


def test_adjoints_are_added_where_the_program_reads():
    run = ff.adjoint(linear, accumulate=True)
    u_b = ff.full({I: 5}, 10.0)

    run(ff.zeros({I: 5}), ff.ones({I: (1, 3)}), u_b)

    assert u_b.asnumpy().tolist() == [10.0, 10.0, 12.0, 12.0, 10.0]


def test_some_adjoints_are_added():
    run = ff.adjoint(diffusion, accumulate=("coeff",))
    _, primals = CASES["diffusion"]
    given = {"out": field((0, 6), (0, 6), seed=4), "coeff": field((0, 6), (0, 6), seed=5)}
    expected = ff.vjp(diffusion, primals)[1]({"out": given["out"]})["coeff"].asnumpy()

    found = arguments(run, primals, given)
    run(**found)

    np.testing.assert_allclose(found["coeff_b"].asnumpy(), expected + given["coeff"].asnumpy())


def test_an_input_without_influence_gets_zeros():
    run = ff.adjoint(diffusion, wrt=("u",), of=("out",))
    wide = ff.full({I: (-5, 11), J: (-5, 11)}, np.nan)
    _, primals = CASES["diffusion"]

    run(primals["u"], primals["coeff"], field((0, 6), (0, 6)), wide)

    assert not wide.asnumpy()[:3].any()
    assert np.isfinite(wide.asnumpy()).all()


@pytest.mark.parametrize("backend", [None, "rows"])
def test_an_adjoint_that_does_not_cover_what_is_read_is_refused(backend):
    linear_b = ff.adjoint(linear).with_backend(backend)

    with pytest.raises(DomainError, match=r"'u_b' is too small: .* covers 0:3"):
        linear_b(ff.zeros({I: 5}), ff.ones({I: (1, 3)}), ff.zeros({I: (0, 3)}))


def test_an_adjoint_may_cover_more_than_the_field():
    u_b = ff.full({I: (0, 7)}, np.nan)

    ff.adjoint(linear)(ff.zeros({I: 5}), ff.ones({I: (1, 3)}), u_b)

    assert u_b.asnumpy().tolist() == [0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0]


def test_a_hessian_is_symmetric():
    _, primals = CASES["pieces"]
    gradient = ff.adjoint(piecewise)
    hessian = ff.tangent(gradient, wrt=("u",), of=("u_b",))
    out_b, rng = field((0, 8), seed=6), np.random.default_rng(7)

    def times(v):
        found = ff.zeros(primals["u"].domain)
        u_b = ff.zeros(primals["u"].domain)
        hessian(u=primals["u"], u_d=v, out_b=out_b, u_b=u_b, u_b_d=found)
        return found.asnumpy()

    v, w = (like(primals["u"], rng) for _ in range(2))
    left, right = w.asnumpy() @ times(v), v.asnumpy() @ times(w)
    assert left == pytest.approx(right, rel=1e-12)
    assert abs(left) > 1e-3


def test_the_stage_is_shown():
    trace = ff.adjoint(square).trace(until="adjoint")

    assert "input out_b" in trace["adjoint"].text


def test_an_adjoint_can_be_pickled():
    derived = pickle.loads(pickle.dumps(ff.adjoint(square)))
    u_b = ff.zeros({I: 2})

    derived(ff.full({I: 2}, 3.0), ff.ones({I: 2}), u_b)

    assert u_b.asnumpy().tolist() == [6.0, 6.0]


def test_what_is_not_there_yet_is_named():
    with pytest.raises(ff.errors.DerivativeError, match="moves by 'as_offset'"):
        ff.adjoint(displace).trace(offset_provider={"Koff": K})


def call(name, run):
    fields = [ff.zeros({I: 2}) for _ in range(3)]
    return getattr(run, name)(*fields)


@pytest.mark.parametrize("name", ["checked", "capture"])
def test_what_derivatives_do_not_have_yet_is_named(name):
    with pytest.raises(ff.errors.DerivativeError, match="of derivatives are not there yet"):
        call(name, ff.adjoint(square))
    with pytest.raises(ff.errors.DerivativeError, match="Halves of derivatives"):
        ff.adjoint(square).split(halo={})


def test_an_adjoint_is_called_as_other_programs_are():
    run = ff.adjoint(square).with_backend("rows")
    u, out_b = ff.full({I: 2}, 3.0), ff.ones({I: 2})

    def ways(u_b):
        yield run.bind(u=u)(out_b, u_b)
        yield run.with_threads(1)(u, out_b, u_b)
        yield run.with_bound_args(u=u)(out_b=out_b, u_b=u_b)
        yield run.with_compilation_options(static_domains=True)(u, out_b, u_b)
        with ff.record() as recorded:
            run(u, out_b, u_b)
        yield recorded()

    u_b = ff.zeros({I: 2})
    for _ in ways(u_b):
        assert u_b.asnumpy().tolist() == [6.0, 6.0]
        u_b[...] = np.nan


@ff.field_operator(backend=None)
def root(u: Line) -> Line:
    return sqrt(u)


@ff.program(backend=None)
def patched(u: Line, out: Line):
    root(u, out=out)
    squared(u, out=out, domain={I: (2, 4)})


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_nan_comes_from_what_a_later_statement_overwrites(backend):
    run = ff.adjoint(patched).with_backend(BACKENDS[backend])
    u = ff.as_field([I], [4.0, 1.0, -1.0, -2.0, 9.0])
    u_b = ff.zeros({I: 5})

    run(u, ff.ones({I: 5}), u_b)

    assert u_b.asnumpy().tolist() == [0.25, 0.5, -2.0, -4.0, 1 / 6]


@ff.field_operator(backend=None)
def by_reciprocal(a: Line, b: Line) -> Line:
    inverse = 1.0 / b
    return a * inverse + inverse * inverse


@ff.program(backend=None)
def divided(a: Line, b: Line, out: Line):
    by_reciprocal(a, b, out=out)


def test_a_product_with_a_reciprocal_is_a_quotient():
    numbers = [-2.0, 0.5, 3.0, 1e200]
    a, b, seed = (ff.as_field((I,), np.roll(numbers, n)) for n in range(3))
    found = {name: ff.zeros(a.domain) for name in ("a_b", "b_b")}

    ff.adjoint(divided)(a=a, b=b, out_b=seed, **found)

    a, b, seed = (each.asnumpy() for each in (a, b, seed))
    exact = -seed / b * (a / b + 2.0 / b / b)
    np.testing.assert_allclose(found["a_b"].asnumpy(), seed / b, rtol=1e-14)
    np.testing.assert_allclose(found["b_b"].asnumpy(), exact, rtol=1e-14)


def test_where_the_divisor_is_0_its_slope_counts_as_0():
    given = {name: ff.as_field((I,), np.ones(2)) for name in ("a", "out_b")}
    given["b"] = ff.as_field((I,), np.array([0.0, 2.0]))
    found = {name: ff.zeros(given["b"].domain) for name in ("a_b", "b_b")}

    ff.adjoint(divided)(**given, **found)

    np.testing.assert_array_equal(found["b_b"].asnumpy(), [0.0, -0.5])
