"""`program.split`: both halves, with an exchange between them, have the bits of the program."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cache.memory import Memory
from fieldforge.errors import ArgumentError
from fieldforge.examples.icosahedral import C2E, E2C, C2EDim, Cell, Edge, icosahedral
from fieldforge.experimental import concat_where
from fieldforge.runtime.decomposition.blocks import blocks
from fieldforge.runtime.decomposition.exchange import local_exchanges
from fieldforge.runtime.decomposition.mesh import decompose
from fieldforge.runtime.decomposition.partitioning import bisect
from fieldforge.workflows.engine.events import Finished

from ...dimensions import I, J, K, Plane

pytestmark = pytest.mark.needs_compiler
STRICT = ff.cpu.with_options(numerics="strict")
Box = ff.Field[ff.Dims[I, J, K], ff.float64]
NX, NY, NZ = 17, 14, 3
RANKS = [(1, 1), (2, 1), (2, 2)]


@ff.field_operator
def laplacian(u: Plane) -> Plane:
    return u(I - 1) + u(I + 1) + u(J - 1) + u(J + 1) - 4.0 * u


@ff.field_operator
def limited(u: Plane, lap: Plane, rate: float) -> Plane:
    flux = lap(I + 1) - lap(I - 1) + lap(J + 1) - lap(J - 1)
    return u - rate * ff.where(flux * (u(I + 1) - u) > 0.0, 0.0, flux)


@ff.field_operator
def copied(u: Plane) -> Plane:
    return u


@ff.program(backend=STRICT)
def diffuse(u: Plane, lap: Plane, rate: float, out: Plane):
    """Two statements without a domain; the second reads around what the first writes."""
    laplacian(u, out=lap)
    limited(u, lap, rate, out=out)


@ff.program(backend=STRICT)
def march(u: Plane, lap: Plane, rate: float, out: Plane, i0: ff.int32, i1: ff.int32,
          j0: ff.int32, j1: ff.int32):  # fmt: skip
    """The last statement writes what the first one reads."""
    laplacian(u, out=lap)
    limited(u, lap, rate, out=out, domain={I: (i0, i1), J: (j0, j1)})
    copied(out, out=u, domain={I: (i0, i1), J: (j0, j1)})


def wide(box, by):
    return {dim: (r.start - by, r.stop + by) for dim, r in zip(box.dims, box.ranges, strict=True)}


def parts_of(ranks, halo):
    return blocks({I: NX, J: NY}, dict(zip((I, J), ranks, strict=True)), halo=halo, periodic=[I, J])


def start_of(block, dtype=float):
    """Return a field whose halo is not known."""
    field = ff.full(block.local, np.nan, dtype=dtype)
    i, j = (np.arange(each.start, each.stop) for each in block.owned.ranges)
    values = np.sin(3.0 * i[:, None]) * np.cos(2.0 * j[None]) + 0.1 * i[:, None]
    shape = [each.start for each in block.local.ranges]
    field.ndarray[
        i[:1].sum() - shape[0] : i[-1] + 1 - shape[0], j[:1].sum() - shape[1] : j[-1] + 1 - shape[1]
    ] = values
    return field


def owned(block, field):
    return field[block.owned].asnumpy()


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("backend", [STRICT, None], ids=["cpu", "embedded"])
@pytest.mark.filterwarnings("ignore:.*runs embedded")
@pytest.mark.parametrize("by_domain", [False, True])
def test_blocks_have_the_bits_of_the_unsplit_program(ranks, backend, by_domain):
    program = (march if by_domain else diffuse).with_backend(backend)
    results = {}
    for is_split in (False, True):
        cut = parts_of(ranks, halo=2)
        us = [start_of(block) for block in cut]
        laps = [ff.zeros(ff.domain(wide(block.owned, 1))) for block in cut]
        outs = [ff.zeros(block.owned) for block in cut]
        calls = [
            arguments(block, *fields, by_domain)
            for block, *fields in zip(cut, us, laps, outs, strict=True)
        ]
        exchanges = local_exchanges([block.patterns for block in cut])
        for _ in range(2):
            for exchange, u in zip(exchanges, us, strict=True):
                exchange.start(u)
            halves = [
                program.split(halo={"u": block.owned}, **known(call)) if is_split else None
                for block, call in zip(cut, calls, strict=True)
            ]
            for half, call in zip(halves, calls, strict=True):
                if half is not None:
                    half.inner(**free(half.inner, call))
            for exchange in exchanges:
                exchange.finish()
            for half, call in zip(halves, calls, strict=True):
                if half is None:
                    program(**call)
                else:
                    half.outer(**free(half.outer, call))
        results[is_split] = [
            (owned(block, out).tobytes(), owned(block, u).tobytes())
            for block, out, u in zip(cut, outs, us, strict=True)
        ]
        assert np.isfinite(outs[0].asnumpy()).all()
    assert results[True] == results[False]


def arguments(block, u, lap, out, by_domain):
    (i0, i1), (j0, j1) = ((each.start, each.stop) for each in block.owned.ranges)
    ends = {"i0": i0, "i1": i1, "j0": j0, "j1": j1}
    more = {name: ff.int32(value) for name, value in ends.items()} if by_domain else {}
    return {"u": u, "lap": lap, "rate": 0.03, "out": out, **more}


def known(call):
    """Return the arguments that domains depend on."""
    return {name: value for name, value in call.items() if name not in ("u", "rate")}


def free(program, call):
    bound = dict(program._made.bound)
    return {name: value for name, value in call.items() if name not in bound}


def test_inner_parts_are_as_large_as_the_halo_allows():
    (block, *_) = parts_of((2, 2), halo=2)
    lap, out = ff.zeros(ff.domain(wide(block.owned, 1))), ff.zeros(block.owned)

    halves = diffuse.split(halo={"u": block.owned}, lap=lap, out=out)

    (i0, i1), (j0, j1) = ((each.start, each.stop) for each in block.owned.ranges)
    assert halves.ready["lap"] == ff.domain({I: (i0 + 1, i1 - 1), J: (j0 + 1, j1 - 1)})
    assert halves.ready["out"] == ff.domain({I: (i0 + 2, i1 - 2), J: (j0 + 2, j1 - 2)})
    assert str(halves).splitlines()[0] == "diffuse:"


@pytest.mark.parametrize("backend", ["reference", "gpu-host"])
def test_every_backend_runs_both_halves(backend):
    program = diffuse.with_backend(backend)
    (block, *_) = parts_of((2, 1), halo=2)
    u = ff.full(block.local, 0.0)
    u.ndarray[...] = np.random.default_rng(5).normal(size=u.ndarray.shape)
    laps = [ff.zeros(ff.domain(wide(block.owned, 1))) for _ in range(2)]
    outs = [ff.zeros(block.owned) for _ in range(2)]

    program(u, laps[0], 0.03, outs[0])
    halves = program.split(halo={"u": block.owned}, lap=laps[1], out=outs[1])
    halves.inner(u, laps[1], 0.03, outs[1])
    halves.outer(u, laps[1], 0.03, outs[1])

    np.testing.assert_array_equal(outs[1].asnumpy(), outs[0].asnumpy())


def test_all_blocks_share_two_builds():
    seen = ff.Collector()
    with ff.using(ff.Engine(Memory(), observers=[seen])):
        for block in parts_of((3, 2), halo=2):
            lap, out = ff.zeros(ff.domain(wide(block.owned, 1))), ff.zeros(block.owned)
            halves = diffuse.split(halo={"u": block.owned}, lap=lap, out=out)
            for half in (halves.inner, halves.outer):
                ff.setup(half, constant_args={"out": out, "lap": lap}).wait()

    assert sum(isinstance(e, Finished) and e.stage == "compile" for e in seen.events) == 2


@ff.field_operator
def summed(flux: ff.Field[ff.Dims[Edge, K], ff.float64]) -> ff.Field[ff.Dims[Cell, K], ff.float64]:
    return ff.neighbor_sum(flux(C2E), axis=C2EDim)


@ff.field_operator
def slope(u: ff.Field[ff.Dims[Cell, K], ff.float64]) -> ff.Field[ff.Dims[Edge, K], ff.float64]:
    return (u(E2C[1]) - u(E2C[0])) * 0.3


@ff.scan_operator(axis=K, forward=True, init=0.0)
def column(state: float, x: float) -> float:
    return 0.5 * state + x


@ff.program(backend=STRICT)
def spread(
    u: ff.Field[ff.Dims[Cell, K], ff.float64],
    flux: ff.Field[ff.Dims[Edge, K], ff.float64],
    total: ff.Field[ff.Dims[Cell, K], ff.float64],
    out: ff.Field[ff.Dims[Cell, K], ff.float64],
    cells: ff.int32,
    edges: ff.int32,
    levels: ff.int32,
):
    slope(u, out=flux, domain={Edge: (0, edges), K: (0, levels)})
    summed(flux, out=total, domain={Cell: (0, cells), K: (0, levels)})
    column(total, out=out, domain={Cell: (0, cells), K: (0, levels)})


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_meshes_have_the_bits_of_one_rank(ranks):
    mesh = icosahedral(2, 2)
    values = np.random.default_rng(3).normal(size=(mesh.cells, NZ))
    parts = decompose(
        mesh.connectivities(), Cell, bisect(mesh.cell_points, ranks), attached=["E2C", "V2C"],
        halo=1, ranks=ranks,
    )  # fmt: skip
    found = np.full((mesh.cells, NZ), np.nan)
    exchanges = local_exchanges([part.patterns for part in parts])
    halves, calls = [], []
    for part, exchange in zip(parts, exchanges, strict=True):
        cells, edges = part.points[Cell], part.points[Edge]
        count, reached = len(cells.levels), part.leading("E2C", len(cells.levels))
        u = ff.as_field([Cell, K], part.localised(values, Cell))
        u.ndarray[cells.owned :] = np.nan
        fields = {
            "u": u,
            "flux": ff.zeros({Edge: len(edges.levels), K: NZ}),
            "total": ff.zeros({Cell: count, K: NZ}),
            "out": ff.zeros({Cell: count, K: NZ}),
        }
        cut = spread.split(
            halo={"u": part.owned}, offset_provider=part.connectivities(),
            cells=ff.int32(part.leading("C2E", reached)), edges=ff.int32(reached),
        )  # fmt: skip
        exchange.start(u)
        given = {**fields, "levels": ff.int32(NZ), "offset_provider": part.connectivities()}
        cut.inner(**given)
        halves.append(cut)
        calls.append(given)
    for part, cut, given, exchange in zip(parts, halves, calls, exchanges, strict=True):
        done = fieldsize(cut, "out")
        exchange.finish()
        cut.outer(**given)
        cells = part.points[Cell]
        assert 0 < done < cells.owned or ranks == 1
        found[cells.global_ids[: cells.owned]] = given["out"].asnumpy()[: cells.owned]

    u, out = ff.as_field([Cell, K], values), ff.zeros({Cell: mesh.cells, K: NZ})
    flux, total = ff.zeros({Edge: mesh.edges, K: NZ}), ff.zeros({Cell: mesh.cells, K: NZ})
    spread(
        u, flux, total, out, ff.int32(mesh.cells), ff.int32(mesh.edges), ff.int32(NZ),
        offset_provider=mesh.connectivities(),
    )  # fmt: skip
    assert found.tobytes() == out.asnumpy().tobytes()


def fieldsize(cut, name):
    return cut.ready[name][Cell].unit_range.stop


@ff.field_operator
def both(u: Plane, v: Plane) -> tuple[Plane, Plane]:
    return u(I + 1) + v, u - v(J - 1)


@ff.program(backend=STRICT)
def pairs(u: Plane, v: Plane, a: Plane, b: Plane):
    both(u, v, out=(a[1:-1, 1:-1], b[1:-1, 1:-1]))


@ff.program(backend=STRICT)
def unlike(u: Plane, v: Plane, a: Plane, b: Plane):
    both(u, v, out=(a[1:-1, 1:-1], b[2:-2, 1:-1]))
    copied(v, out=b[1:2, :])


@ff.program(backend=STRICT)
def apart(u: Plane, v: Plane, a: Plane, b: Plane):
    both(u, v, out=(a[1:-1, 1:-1], b[2:-2, 1:-1]))


@pytest.mark.parametrize("program", [pairs, unlike])
def test_several_outputs_are_cut_together_if_they_are_written_on_the_same_box(program):
    def plane(seed):
        return ff.as_field([I, J], np.random.default_rng(seed).normal(size=(8, 8)))

    u, v, a, b, c, d = (plane(seed) for seed in (1, 2, 3, 3, 3, 3))
    program(u, v, a, b)
    halves = program.split(halo={"u": {I: (0, 6), J: (0, 8)}}, a=c, b=d)
    u_late = ff.as_field([I, J], u.asnumpy().copy())
    u_late.ndarray[6:] = np.nan
    halves.inner(u_late, v, c, d)
    halves.outer(u, v, c, d)

    np.testing.assert_array_equal(c.asnumpy(), a.asnumpy())
    np.testing.assert_array_equal(d.asnumpy(), b.asnumpy())
    if program is pairs:
        assert halves.ready["a"] == ff.domain({I: (1, 5), J: (1, 7)})
    else:
        assert halves.cuts[0].inner is None
        assert [len(domain) for domain in halves.ready["a"].ranges] == [0, 0]


@ff.field_operator
def shifted_in_box(u: Box) -> Box:
    return concat_where(K == 0, u, u(I + 1)(K - 1))


@ff.program(backend=STRICT)
def lift(u: Box, out: Box, top: ff.int32):
    shifted_in_box(u, out=out, domain={I: (0, 4), J: (0, 4), K: (0, top)})


def test_written_vertical_ranges_stay_arguments():
    u = ff.as_field([I, J, K], np.random.default_rng(0).normal(size=(5, 4, 3)))
    out, again = ff.zeros({I: 4, J: 4, K: 3}), ff.zeros({I: 4, J: 4, K: 3})
    halves = lift.split(halo={"u": {I: (0, 4)}})
    lift(u, out, ff.int32(3))

    halves.inner(u, again, ff.int32(3))
    halves.outer(u, again, ff.int32(3))

    assert halves.ready["out"] == ff.domain({I: (0, 3), J: (0, 4)})
    np.testing.assert_array_equal(again.asnumpy(), out.asnumpy())


def test_mistakes_are_refused():
    out = ff.zeros({I: 4, J: 4})

    with pytest.raises(ArgumentError, match="'v', which is no parameter of 'diffuse'"):
        diffuse.split(halo={"v": {I: (0, 4)}}, lap=out, out=out)
    with pytest.raises(ArgumentError, match="depends on 'out', which 'split' is not given"):
        diffuse.split(halo={"u": {I: (0, 4)}}, lap=out)
    with pytest.raises(ArgumentError, match="depends on 'i0', which 'split' is not given"):
        march.split(halo={"u": {I: (0, 4)}}, lap=out, out=out)
    with pytest.raises(ArgumentError, match="No statement of 'apart' can be cut"):
        apart.split(halo={"u": {I: (0, 4)}}, a=out, b=out)
