"""`keep`: adjoints that read fields as the program left them."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import exp, float64

from ...derivative_cases import I, K, Line

BACKENDS = {"interpreted": None, "gpu-host": ff.gpu_host, "cpu": "cpu"}
Column = ff.Field[ff.Dims[K], float64]


@ff.field_operator(backend=None)
def flux_of(u: Line, w: Line) -> Line:
    return exp(w * (u(I + 1) - u))


@ff.field_operator(backend=None)
def limited(flux: Line) -> Line:
    return flux * flux(I - 1) * flux


@ff.field_operator(backend=None)
def squared(u: Line) -> Line:
    return u * u


@ff.program(backend=None)
def step(u: Line, w: Line, flux: Line, out: Line):
    flux_of(u, w, out=flux)
    limited(flux, out=out, domain={I: (1, 8)})


@ff.program(backend=None)
def twice(u: Line, out: Line):
    squared(u, out=u)
    squared(u, out=out)


@ff.scan_operator(axis=K, forward=True, init=1.0)
def grown(above: float64, rate: float64) -> float64:
    return above * exp(rate)


@ff.field_operator(backend=None)
def heat(t: Column) -> Column:
    return t * t


@ff.program(backend=None)
def column(rate: Column, t: Column, out: Column):
    grown(rate, out=t)
    heat(t, out=out)


def on(program, backend):
    if backend is None:
        return program.with_backend(ff.reference)
    return program.with_backend(ff.cpu if backend == "cpu" else backend)


def called(program, backend, given, written):
    run = on(program, backend)
    found = {name: ff.full(like.domain, np.nan) for name, like in written.items()}
    run(**given, **found)
    return {name: each.asnumpy() for name, each in found.items()}


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_what_is_kept_gives_the_bits_of_computing_it_again(backend):
    rng = np.random.default_rng(3)
    u, w, seed = (ff.as_field([I], rng.normal(size=size)) for size in (9, 8, 8))
    flux, out = ff.zeros({I: 8}), ff.zeros({I: 8})
    on(step, backend)(u, w, flux, out)
    poison = ff.full({I: 8}, np.nan)
    given, written = {"u": u, "w": w, "out_b": seed}, {"u_b": u, "w_b": w}
    again = ff.adjoint(step, wrt=("u", "w"), of=("out",))
    kept = ff.adjoint(step, of=("out",), keep=("flux",))

    meant = called(again, backend, given | {"flux": poison}, written)
    found = called(kept, backend, given | {"flux": flux}, written)

    for name, each in meant.items():
        assert np.isfinite(each).all()
        assert found[name].tobytes() == each.tobytes()
    assert " exp " in text_of(again)
    assert " exp " not in text_of(kept)


def text_of(program):
    return program.with_backend(ff.cpu).trace()["adjoint"].text


def test_a_scan_that_is_kept_does_not_run_again():
    rng = np.random.default_rng(3)
    rate, seed = (ff.as_field([K], rng.normal(size=6)) for _ in range(2))
    t, out = ff.zeros({K: 6}), ff.zeros({K: 6})
    on(column, None)(rate, t, out)
    again = ff.adjoint(column, wrt=("rate",), of=("out",))
    kept = ff.adjoint(column, wrt=("rate",), of=("out",), keep=("t",))
    given = {"rate": rate, "t": t, "out_b": seed}

    meant = called(again, None, given, {"rate_b": rate})
    found = called(kept, None, given, {"rate_b": rate})

    assert found["rate_b"].tobytes() == meant["rate_b"].tobytes()
    assert text_of(again).count("scan K forward") == 1
    assert text_of(kept).count("scan K forward") == 0


def test_a_field_whose_first_value_counts_too_is_refused():
    kept = ff.adjoint(twice, wrt=("u",), of=("out",), keep=("u",))
    line = ff.ones({I: 4})

    with pytest.raises(ff.errors.DerivativeError, match="also needs its value at entry"):
        kept(line, line, ff.zeros({I: 4}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keep": ("w",)}, "'w', which 'step' does not write"),
        ({"keep": ("fluxx",)}, "no parameter of 'step'"),
        ({"keep": ("flux",), "value": True}, "'value=True' writes it anew"),
    ],
)
def test_what_cannot_be_kept_is_named(options, words):
    with pytest.raises(ff.errors.DerivativeError, match=words):
        ff.adjoint(step, **options)
