r"""Dimensions, a small mesh, and how to call an operator, for the tests of the language.

0 --e0-- 1 --e1-- 2
| \  c1  | \  c3  |
e4  e5   e6  e7   e8        four triangles; -1 is where there is no neighbour
|  c0  \ |  c2  \ |
3 --e2-- 4 --e3-- 5
"""

from typing import Any

import numpy as np

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.runtime import gpu
from fieldforge.runtime.language.structure import map_leaves

from ..dimensions import (
    C2CDim,
    C2EDim,
    C2VDim,
    Cell,
    E2CDim,
    E2VDim,
    Edge,
    I,
    J,
    K,
    Line,
    V2EDim,
    Vertex,
)  # fmt: skip

CELLS, EDGES, VERTICES = 4, 9, 6
c2e = np.array([[4, 2, 5], [5, 6, 0], [6, 3, 7], [7, 8, 1]], np.int32)
c2v = np.array([[0, 3, 4], [0, 4, 1], [1, 4, 5], [1, 5, 2]], np.int32)
c2c = np.array([[-1, -1, 1], [0, 2, -1], [1, -1, 3], [2, -1, -1]], np.int32)
e2v = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [0, 4], [1, 4], [1, 5], [2, 5]], np.int32)
e2c = np.array(
    [[1, -1], [3, -1], [0, -1], [2, -1], [0, -1], [0, 1], [1, 2], [2, 3], [3, -1]], np.int32
)
v2e = np.array(
    [[0, 4, 5, -1], [0, 1, 6, 7], [1, 8, -1, -1], [2, 4, -1, -1], [2, 3, 5, 6], [3, 7, 8, -1]],
    np.int32,
)

MESH = {
    "C2E": as_connectivity([Cell, C2EDim], codomain=Edge, data=c2e),
    "C2V": as_connectivity([Cell, C2VDim], codomain=Vertex, data=c2v),
    "C2C": as_connectivity([Cell, C2CDim], codomain=Cell, data=c2c),
    "E2V": as_connectivity([Edge, E2VDim], codomain=Vertex, data=e2v),
    "E2C": as_connectivity([Edge, E2CDim], codomain=Cell, data=e2c),
    "V2E": as_connectivity([Vertex, V2EDim], codomain=Edge, data=v2e),
    "Koff": K,
}

Line32 = ff.Field[ff.Dims[I], ff.float32]
Ints = ff.Field[ff.Dims[I], ff.int32]
Bools = ff.Field[ff.Dims[I], bool]
Slab = ff.Field[ff.Dims[I, K], ff.float64]
Box = ff.Field[ff.Dims[I, J, K], ff.float64]
CellField = ff.Field[ff.Dims[Cell], ff.float64]
EdgeField = ff.Field[ff.Dims[Edge], ff.float64]
VertexField = ff.Field[ff.Dims[Vertex], ff.float64]
CellK = ff.Field[ff.Dims[Cell, K], ff.float64]
EdgeK = ff.Field[ff.Dims[Edge, K], ff.float64]
VertexK = ff.Field[ff.Dims[Vertex, K], ff.float64]


def field(dims: Any, data: Any, dtype: Any = None) -> ff.Field:
    """Make a field of `data`; `dims` may be one dimension, several or a domain."""
    return ff.as_field((dims,) if isinstance(dims, ff.Dimension) else dims, data, dtype)


def memory(values: Any) -> Any:
    """Return an array of numbers where fields of the running test lie: of the host or a device."""
    return ff.as_field([I], np.asarray(values, np.float64)).ndarray


def on_memory(array: Any, start: int = 0) -> ff.Field:
    """Make a field along I of an array, without a copy."""
    return ff.Field(array, (I,), (start,))


def numbers(array: Any) -> np.ndarray:
    """Return a copy of `memory` on the host."""
    return np.array(on_memory(array).asnumpy())


def strided(array: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> ff.Field:
    """Make a field along I of the memory of an array, with strides in bytes."""
    if isinstance(array, np.ndarray):
        return on_memory(np.lib.stride_tricks.as_strided(array, shape, strides))
    return on_memory(gpu.Array.from_any(array)._view(0, shape, strides))


def random(*shape: int, seed: int = 1) -> np.ndarray:
    """Return normal numbers that no test takes for zeros or ones."""
    return np.random.default_rng((seed, *shape)).normal(size=shape)


def run(
    operator: Any,
    *args: Any,
    on: Any,
    backend: Any,
    dtype: Any = np.float64,
    offset_provider: Any = None,
    **kwargs: Any,
) -> np.ndarray:
    """Call an operator with an output of its own on the domain `on`; return that as an array."""
    out = ff.zeros(on, dtype=dtype)
    operator.with_backend(backend)(*args, out=out, offset_provider=offset_provider or {}, **kwargs)
    return out.asnumpy()


def assert_gives(
    expected: Any, operator: Any, *args: Any, backend: Any, on: Any = None,
    offset_provider: Any = None, rtol: float = 0.0, atol: float = 0.0, **call: Any,
) -> None:  # fmt: skip
    """Call an operator, and hold its results against what is expected, element by element.

    The outputs begin at zero and have the shapes of what is expected, or they have the domain `on`.
    """
    wanted: list[Any] = []

    def output(value: Any, type_: Any) -> Any:
        if isinstance(value, tuple):
            parts = map(output, value, type_.elements)
            return value._make(parts) if hasattr(value, "_make") else tuple(parts)
        wanted.append(np.asarray(value))
        domain = on or dict(zip(type_.dims, wanted[-1].shape, strict=True))
        return ff.zeros(domain, dtype=getattr(type_, "dtype", type_).name)

    out = output(expected, operator.__gt_type__().result)
    provider = MESH if offset_provider is None else offset_provider
    operator.with_backend(backend)(*args, out=out, offset_provider=provider, **call)

    found: list[Any] = []
    map_leaves(found.append, out)
    for each, values in zip(found, wanted, strict=True):
        if rtol or atol:
            np.testing.assert_allclose(each.asnumpy(), values, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(each.asnumpy(), values)


@ff.field_operator(backend=None)
def scaled(u: Line, by: ff.float64) -> Line:
    return u * by


@ff.program(backend=None)
def scale(u: Line, by: ff.float64, out: Line):
    scaled(u, by, out=out)
