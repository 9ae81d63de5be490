"""A step of two programs with periodic halos, and numbers to drive it."""

import numpy as np

import fieldforge as ff

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]
N = 6
DOMAIN = {I: (-1, N + 1)}
INNER = {I: (0, N)}
COUNT = np.int32(N)


@ff.field_operator
def moved(u: Line, v: Line, k: Line) -> Line:
    return 0.9 * u + 0.05 * (v * (u(I - 1) - u) + k * u * u / (1.0 + u * u))


@ff.program(backend="rows")
def advance(u: Line, v: Line, k: Line, out: Line, n: ff.int32):
    moved(u, v, k, out=out, domain={I: (0, n)})


@ff.field_operator
def product(u: Line, v: Line) -> Line:
    return u * v + u(I + 1)


@ff.program(backend="rows")
def multiply(u: Line, v: Line, out: Line, n: ff.int32):
    product(u, v, out=out, domain={I: (0, n)})


@ff.field_operator
def squared(u: Line) -> Line:
    return 0.3 * u * u


@ff.program(backend="rows")
def square(u: Line, out: Line):
    squared(u, out=out)


def drawn(seed):
    return np.random.default_rng(seed).normal(size=N + 2)


def field(values):
    return ff.as_field(DOMAIN, values)


def blank():
    return field(np.full(N + 2, np.nan))


def differences(function, start, h=1e-5):
    """Return central differences of a function of an array."""
    rows = [(function(start + h * e) - function(start - h * e)) / (2 * h) for e in np.eye(N + 2)]
    return np.array(rows)


def run_step(backend="rows", allocator=None):
    """Record a step from `now` to `new` with the constant `k`; return it."""
    run = advance.with_backend(backend)
    a, b, c, v, k = (ff.as_field(DOMAIN, drawn(seed), allocator=allocator) for seed in range(5))
    with ff.record(now=a, new=b, k=k) as step:
        run(a, v, k, c, COUNT)
        ff.fill_halo(c, INNER, {I: "periodic"})
        run(c, v, k, b, COUNT)
        ff.fill_halo(b, INNER, {I: "periodic"})
    return step
