"""Programs that the tests of capsules capture."""

import fieldforge as ff

I = ff.Dimension("I")
J = ff.Dimension("J")
V = ff.Dimension("V")
E = ff.Dimension("E")
E2VDim = ff.Dimension("E2V", kind=ff.DimensionKind.LOCAL)
E2V = ff.FieldOffset("E2V", source=V, target=(E, E2VDim))
Plane = ff.Field[ff.Dims[I, J], ff.float64]
Pair = tuple[Plane, Plane]


@ff.field_operator
def third(u: Plane, by: float) -> Plane:
    return (u(I + 1) - u) * by + u(I - 1) * 0.3


@ff.field_operator
def scaled(u: Plane) -> Plane:
    return 2.0 * u


@ff.program(backend=ff.cpu)
def smooth(u: Plane, by: float, out: Plane, other: Plane):
    scaled(u, out=other)
    third(u, by, out=out[1:-1, :])
    scaled(out, out=u)


@ff.field_operator
def both(u: Plane) -> Pair:
    return u + 1.0, u * 0.1


@ff.program(backend=ff.cpu)
def split(u: Pair, out: Pair):
    both(u[0], out=out)


@ff.field_operator
def across(v: ff.Field[ff.Dims[V], ff.float64]) -> ff.Field[ff.Dims[E], ff.float64]:
    return ff.neighbor_sum(v(E2V), axis=E2VDim)


@ff.program(backend=ff.cpu)
def gather(v: ff.Field[ff.Dims[V], ff.float64], out: ff.Field[ff.Dims[E], ff.float64]):
    across(v, out=out)


@ff.field_operator
def slope(u: Plane) -> Plane:
    here = u(I + 1) - u
    return here * here


@ff.field_operator
def limited(u: Plane, by: float) -> Plane:
    steep = slope(u)
    product = steep * by
    shifted = product + u * 0.3
    return ff.where(shifted > 0.5, shifted, 2.0 * shifted)


@ff.program(backend=ff.cpu)
def limit(u: Plane, by: float, out: Plane):
    limited(u, by, out=out[:-1, :])
