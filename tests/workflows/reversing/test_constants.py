"""`constant`: adjoints of steps look up what never changes once."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, int32, neighbor_sum
from fieldforge.errors import DerivativeError

from ...dimensions import C2E, C2EDim, Cell, Edge

Cells, Edges = ff.Field[ff.Dims[Cell], float64], ff.Field[ff.Dims[Edge], float64]
Sparse = ff.Field[ff.Dims[Cell, C2EDim], float64]
COUNT = 40


@ff.field_operator
def spread(u: Edges, weight: Sparse) -> Cells:
    return neighbor_sum(u(C2E) * weight * u(C2E), axis=C2EDim)


@ff.field_operator
def same(u: Cells) -> Cells:
    return u


@ff.program(backend=ff.cpu)
def flow(u: Edges, weight: Sparse, out: Cells, stop: int32):
    spread(u, weight, out=out, domain={Cell: (0, stop)})


E2E = ff.FieldOffset("E2E", source=Edge, target=(Edge, C2EDim))


@ff.field_operator
def turned_by(u: Edges, weight: ff.Field[ff.Dims[Edge, C2EDim], float64]) -> Edges:
    return 0.1 * neighbor_sum(u(E2E) * weight, axis=C2EDim)


@ff.program(backend=ff.cpu)
def turn(u: Edges, weight: ff.Field[ff.Dims[Edge, C2EDim], float64], out: Edges):
    turned_by(u, weight, out=out)


def made():
    rng = np.random.default_rng(8)
    entries = rng.permuted(np.tile(np.arange(COUNT), (COUNT, 1)), axis=1)[:, :3]
    table = ff.as_connectivity([Cell, C2EDim], Edge, entries)
    fields = {
        "u": ff.as_field([Edge], rng.normal(size=COUNT)),
        "weight": ff.as_field([Cell, C2EDim], rng.normal(size=(COUNT, 3))),
        "one": ff.zeros({Cell: COUNT}),
        "two": ff.zeros({Cell: COUNT}),
    }
    return fields, {"C2E": table}


def recorded(fields, tables):
    u, weight, one, two = fields.values()
    with ff.record(u=u, one=one, two=two) as step:
        for out, stop in ((one, COUNT), (two, COUNT - 9)):
            flow(u, weight, out, int32(stop), offset_provider=tables)
    return step


def adjoint(fields, back):
    u_b = ff.zeros({Edge: COUNT})
    seeds = {f"{name}_b": ff.ones({Cell: COUNT}) for name in ("one", "two")}
    back(**seeds, u_b=u_b)
    return u_b.asnumpy()


def test_an_adjoint_has_the_same_bits_and_looks_up_weights_once():
    fields, tables = made()
    step = recorded(fields, tables)
    wanted = {"wrt": ["u"], "of": ["one", "two"]}

    usual, once = step.adjoint(**wanted), step.adjoint(**wanted, constant=["weight"])
    meant = adjoint(fields, usual)

    assert adjoint(fields, once).tobytes() == meant.tobytes()
    assert (
        once.bytes - usual.bytes
        == ff.transposed_field(fields["weight"], C2E, tables).ndarray.nbytes
    )
    fields["weight"].ndarray[...] = 0.0  # it was said that it stays
    assert adjoint(fields, once).any()
    assert not adjoint(fields, usual).any()


def test_a_loop_takes_constants():
    fields, tables = made()
    u, weight = fields["u"], ff.as_field([Edge, C2EDim], fields["weight"].asnumpy())
    tables = {"E2E": ff.as_connectivity([Edge, C2EDim], Edge, tables["C2E"].asnumpy())}
    turned = ff.zeros({Edge: COUNT})
    with ff.record(u=u) as step:
        turn(u, weight, turned, offset_provider=tables)
        turn(turned, weight, u, offset_provider=tables)

    def cost(_, u):
        return float(ff.sum(u)), {"u": ff.ones({Edge: COUNT})}

    found = [
        ff.reversed_loop(step, carry=["u"], cost=cost, constant=constant)(steps=3, u=u)
        for constant in ((), ["weight"])
    ]

    (cost_of, usual), (cost_once, once) = found
    assert cost_of == cost_once
    assert once["u"].asnumpy().tobytes() == usual["u"].asnumpy().tobytes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wait", "'wait', which is no parameter of a recorded program"),
        ("u", "'u', for which the step takes the slot 'u'"),
        ("v", "'v', for which the step takes a field that it writes"),
    ],
)
def test_what_may_change_is_no_constant(name, message):
    fields, tables = made()
    u, weight, one, two = fields.values()

    @ff.program(backend=ff.cpu)
    def copy(v: Cells, out: Cells):
        same(v, out=out)

    with ff.record(u=u, two=two) as step:
        flow(u, weight, one, int32(COUNT), offset_provider=tables)
        copy(one, two)

    with pytest.raises(DerivativeError, match=message):
        step.adjoint(wrt=["u"], of=["two"], constant=[name])
