"""What the threads of the stress test do: each call is checked against NumPy."""

from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.runtime.fields.field import make
from fieldforge.workflows.entries.bound_program import BoundProgram

I, K = ff.Dimension("I"), ff.Dimension("K", ff.DimensionKind.VERTICAL)
V, E = ff.Dimension("V"), ff.Dimension("E")
V2EDim = ff.Dimension("V2E", ff.DimensionKind.LOCAL)
V2E = ff.FieldOffset("V2E", source=E, target=(V, V2EDim))
Slab = ff.Field[ff.Dims[I, K], ff.float64]
Edges = ff.Field[ff.Dims[E], ff.float64]
Nodes = ff.Field[ff.Dims[V], ff.float64]

Job = Callable[[random.Random], None]


@ff.field_operator
def risen(u: Slab, by: ff.float64) -> Slab:
    return u(I + 1) + by


@ff.program(backend=ff.cpu)
def rise(u: Slab, by: ff.float64, out: Slab):
    risen(u, by, out=out)


@ff.field_operator(backend=ff.cpu)
def collected(u: Edges) -> Nodes:
    return ff.neighbor_sum(u(V2E), axis=V2EDim)


@ff.program(backend=ff.cpu)
def collect(u: Edges, out: Nodes):
    collected(u, out=out)


static_rise = rise.with_static_params("by")
direct_rise = risen.with_backend(ff.cpu)
shared_rise = rise.with_backend(ff.cpu.with_options(parallel_from=1))


def slab(chance: random.Random, rows: int) -> Any:
    """Return a field in one of three layouts: each is another variant."""
    layout = chance.choice("CFS")
    array = np.zeros((rows, 8), order="F" if layout == "F" else "C")
    array = np.zeros((rows, 16))[:, ::2] if layout == "S" else array
    array[...] = [[chance.random()] * 8 for _ in range(rows)]
    return make(array, ff.domain({I: rows, K: 8}))


def layouts(chance: random.Random) -> None:
    """Call one program with several variants, and with arguments that come and go."""
    rows, by = chance.randint(2, 9), float(chance.randint(0, 5))
    u, out = slab(chance, rows), slab(chance, rows - 1)
    rise(u, by, out=out)
    same(out.asnumpy(), u.asnumpy()[1:] + by)


def arrays(chance: random.Random) -> None:
    """Arrays in the place of fields, for programs, operators and bound calls."""
    u, out = slab(chance, 4).ndarray, slab(chance, 3).ndarray
    call: Any = chance.choice([rise, direct_rise, rise.bind(u=u)])
    call(**({} if isinstance(call, BoundProgram) else {"u": u}), by=2.0, out=out)
    same(out, u[1:] + 2.0)


def operators(chance: random.Random) -> None:
    """Operators that are called directly, whole and on a part."""
    u, out = slab(chance, 5), slab(chance, 4)
    before = out.asnumpy().copy()
    direct_rise(u, 1.0, out=out, domain={I: (1, 3), K: (0, 8)})
    same(out.asnumpy()[[0, 3]], before[[0, 3]])
    same(out.asnumpy()[1:3], u.asnumpy()[2:4] + 1.0)
    direct_rise(u, 2.0, out=out)
    same(out.asnumpy(), u.asnumpy()[1:] + 2.0)


def statics(chance: random.Random) -> None:
    """Numbers that are compiled in, each time as another object."""
    by = float(str(chance.randint(0, 3)))
    u, out = ff.ones({I: 3, K: 2}), ff.zeros({I: 2, K: 2})
    static_rise(u, by, out)
    same(out.asnumpy(), np.full((2, 2), 1.0 + by))


def meshes(chance: random.Random) -> None:
    """Tables that come and go: equal ones share a variant, others have their own."""
    width, skips = chance.choice([2, 3]), chance.random() < 0.5
    rows = [[chance.randrange(6) for _ in range(width)] for _ in range(4)]
    if skips:
        rows[chance.randrange(4)][-1] = -1
    table = as_connectivity(
        [V, V2EDim], codomain=E, data=np.array(rows, np.int32), skip_value=-1 if skips else None
    )
    u, out = ff.as_field([E], [float(2**n) for n in range(6)]), ff.zeros({V: 4})
    call: Any = chance.choice([collect, lambda u, out, **more: collected(u, out=out, **more)])
    call(u, out, offset_provider={"V2E": table})
    same(out.asnumpy(), [sum(2.0**e for e in row if e >= 0) for row in rows])


def bound(chance: random.Random) -> None:
    """Arguments that are fixed, some and all."""
    u, out = slab(chance, 4), slab(chance, 3)
    part = rise.bind(u=u)
    part(2.0, out)
    whole = rise.bind(u=u, by=3.0, out=out)
    for _ in range(3):
        whole()
    same(out.asnumpy(), u.asnumpy()[1:] + 3.0)


SHARED_IN, SHARED_OUT = ff.ones({I: 5, K: 4}), ff.zeros({I: 4, K: 4})
with ff.record(u=SHARED_IN, out=SHARED_OUT) as STEP:
    rise(SHARED_IN, 1.0, SHARED_OUT)
    rise(SHARED_IN, 2.0, SHARED_OUT)


def steps(chance: random.Random) -> None:
    """One recorded step, replayed by all with fields of their own."""
    u, out = ff.full({I: 5, K: 4}, chance.random()), ff.zeros({I: 4, K: 4})
    for _ in range(3):
        STEP(u=u, out=out)
    same(out.asnumpy(), u.asnumpy()[1:] + 2.0)


def limited(chance: random.Random) -> None:
    """Threads and memory of the caller."""
    u, out = slab(chance, 3), slab(chance, 2)
    with ff.threads(chance.randint(1, 3)), ff.workspace(bytearray(1 << 12)):
        rise(u, 1.0, out)
    same(out.asnumpy(), u.asnumpy()[1:] + 1.0)


def shared(chance: random.Random) -> None:
    """Loops that the threads of the pool share, with as many callers at once as there are jobs."""
    rows = chance.choice([2, 7, 600])
    u, out = slab(chance, rows + 1), slab(chance, rows)
    shared_rise.with_threads(chance.randint(1, 5))(u, 1.0, out)
    same(out.asnumpy(), u.asnumpy()[1:] + 1.0)


def forgetful(chance: random.Random) -> None:
    """Collect garbage, and now and then drop all variants under the calls of the others."""
    gc.collect()
    if next(_TURNS) % 20 == 0:
        chance.choice([static_rise, direct_rise])._forget()


_TURNS = itertools.count(1)
JOBS: tuple[Job, ...] = (
    layouts, arrays, operators, statics, meshes, bound, steps, limited, shared, forgetful,
)  # fmt: skip


def same(found: Any, expected: Any) -> None:
    """Make sure that numbers agree bit for bit."""
    if not np.array_equal(np.asarray(found), np.asarray(expected)):
        raise AssertionError(f"got {found}, expected {expected}")
