"""Displacements and gathers between bounds that are far apart list only what they read."""

import tracemalloc

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.experimental import as_offset, concat_where

from ..dimensions import E2V, E2VDim, Edge, K, Koff, Vertex

Levels = ff.Field[ff.Dims[K], ff.float64]
Steps = ff.Field[ff.Dims[K], ff.int32]
Vertices = ff.Field[ff.Dims[Vertex], ff.float64]
Edges = ff.Field[ff.Dims[Edge], ff.float64]

FAR = -(2**22)  # an array of all indices between would have 32 MiB
ROOM = 2**20


@ff.field_operator(backend=None)
def by_one_step(a: Levels, by: Steps, step: ff.int32) -> Levels:
    value = concat_where(K < -1, concat_where(K < FAR + 5, a, 2.0), 1.0)
    return value(as_offset(Koff, ff.broadcast(step, (K,))))


@ff.field_operator(backend=None)
def by_one_step_in_a_region(a: Levels, by: Steps, step: ff.int32) -> Levels:
    steps = concat_where(K >= FAR, concat_where(K < 0, ff.broadcast(step, (K,)), 7), 7)
    return concat_where(K < FAR + 5, a, 2.0)(as_offset(Koff, steps))


@ff.field_operator(backend=None)
def by_many_steps(a: Levels, by: Steps, step: ff.int32) -> Levels:
    return concat_where(K < -1, concat_where(K < FAR + 5, a, 2.0), 1.0)(as_offset(Koff, by))


@ff.field_operator(backend=None)
def of_far_vertices(a: Vertices) -> Edges:
    return concat_where(Vertex < 5, a, concat_where(Vertex < -FAR, 2.0, 1.0))(E2V[0])


def peak(run, *args, **given):
    """Return the most bytes that a call held at once."""
    run(*args, **given)  # what is made once does not count
    tracemalloc.start()
    try:
        run(*args, **given)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


FAR_REGIONS = [
    (by_one_step, [3.0, 4.0, 2.0, 2.0]),
    (by_one_step_in_a_region, [3.0, 4.0, 2.0, 2.0]),
]


@pytest.mark.parametrize(
    ("operator", "meant", "backend"),
    [
        *((*each, backend) for each in FAR_REGIONS for backend in (None, ff.reference)),
        (by_many_steps, [0.0, 4.0, 2.0, 1.0], None),
    ],
)
def test_a_displacement_lists_no_stretch_of_one_value(operator, meant, backend):
    a = ff.as_field({K: (FAR, FAR + 8)}, np.arange(8.0))
    by = ff.as_field({K: (FAR, FAR + 4)}, np.array([0, 3, 3, -FAR], np.int32))
    out = ff.zeros({K: (FAR, FAR + 4)})

    run = operator.with_backend(backend)
    held = peak(run, a, by, np.int32(3), out=out, offset_provider={})

    assert out.asnumpy().tolist() == meant
    assert held < ROOM


def test_a_gather_lists_no_stretch_of_one_value():
    entries = [[1], [6], [-FAR - 1], [-FAR]]
    a = ff.as_field({Vertex: 8}, np.arange(8.0))
    table = ff.as_connectivity([Edge, E2VDim], Vertex, np.array(entries))
    out = ff.zeros({Edge: 4})

    held = peak(of_far_vertices, a, out=out, offset_provider={"E2V": table})

    assert out.asnumpy().tolist() == [1.0, 2.0, 2.0, 1.0]
    assert held < ROOM
