"""Adjoints along elements of a mesh: most blocks of a loop have all neighbours."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, neighbor_sum
from fieldforge.runtime.fields.neighbour_table import Connectivity

from ...derivative_cases import C2E, C2EDim, Cell, Edge, Sparse, copied

Cells = ff.Field[ff.Dims[Cell], float64]
Edges = ff.Field[ff.Dims[Edge], float64]
CELLS, EDGES, MISSING = 230, 300, 97  # in blocks of 16, most of which have neither end nor gap


@ff.field_operator(backend=None)
def flow(u: Edges, v: Cells, weight: Sparse) -> tuple[Cells, Cells]:
    turned = neighbor_sum(u(C2E) * weight * (u(C2E) + v), axis=C2EDim)
    return turned, u(C2E[0]) * v - u(C2E[1])


@ff.program(backend=None)
def flows(u: Edges, v: Cells, weight: Sparse, out: Cells, rise: Cells, stop: ff.int32):
    flow(u, v, weight, out=(out, rise), domain={Cell: (3, stop)})


def mesh(missing: int) -> dict[str, Connectivity]:
    """Return a table that each edge is in about as often as others, so its transpose has gaps."""
    rng = np.random.default_rng(4)
    entries = (3 * np.arange(CELLS)[:, None] + [0, 1, 2]) % EDGES
    entries[missing : missing + 4] = rng.integers(0, EDGES, (4, 3))
    entries[missing] = [5, -1, 7] if missing else [5, 6, 7]
    return {"C2E": ff.as_connectivity([Cell, C2EDim], Edge, entries, skip_value=-1)}


def given_fields():
    rng = np.random.default_rng(5)
    given = {
        "u": ff.as_field([Edge], rng.normal(size=EDGES)),
        "v": ff.as_field([Cell], rng.normal(size=CELLS)),
        "weight": ff.as_field([Cell, C2EDim], rng.normal(size=(CELLS, 3))),
    }
    seeds = {f"{n}_b": ff.as_field([Cell], rng.normal(size=CELLS)) for n in ("out", "rise")}
    return given, seeds


def adjoints(backend, tables, stop=CELLS - 5):
    given, seeds = given_fields()
    found = {f"{name}_b": ff.full(given[name].domain, np.nan) for name in ("u", "v")}
    run = ff.adjoint(flows, wrt=("u", "v")).with_backend(backend)
    run(**given, **map_copies(seeds), **found, stop=ff.int32(stop), offset_provider=tables)
    return b"".join(each.asnumpy().tobytes() for each in found.values())


def map_copies(fields):
    return {name: copied(each) for name, each in fields.items()}


@pytest.mark.parametrize("missing", [MISSING, 0], ids=["some missing", "none missing"])
@pytest.mark.parametrize("backend", ["cpu", "rows", ff.gpu_host], ids=["cpu", "rows", "gpu-host"])
def test_blocks_with_and_without_all_neighbours_have_the_bits_of_the_interpreter(backend, missing):
    meant = adjoints(ff.reference, ff.transposed(mesh(missing)))

    assert adjoints(backend, mesh(missing)) == meant


def test_transposed_tables_of_another_layout_have_the_same_bits():
    tables = ff.transposed(mesh(MISSING))
    rows = {
        name: Connectivity(each.asnumpy(), each.domain, each.codomain, each.skip_value)
        for name, each in tables.items()
    }

    assert tables["C2E_t"].asnumpy().flags.f_contiguous
    assert rows["C2E_t"].asnumpy().flags.c_contiguous
    assert adjoints("cpu", rows) == adjoints("cpu", tables)


def test_a_program_that_computes_on_few_elements_hands_back_to_few():
    meant = adjoints(ff.reference, ff.transposed(mesh(MISSING)), stop=40)

    assert adjoints("cpu", mesh(MISSING), stop=40) == meant


def test_a_block_with_all_neighbours_selects_nothing():
    given, seeds = given_fields()
    run = ff.adjoint(flows, wrt=("u", "v")).with_backend(ff.cpu)

    trace = run.trace(
        **given, **seeds, u_b=given["u"], v_b=given["v"], stop=ff.int32(40),
        offset_provider=ff.transposed(mesh(MISSING)), until="codegen",
    )  # fmt: skip

    _, _, block = trace["codegen"].text.partition("listed<")
    usual, _, other = block.partition("} else {")
    assert "const s32 v" in usual
    assert " ? " not in usual.replace("? v", "")
    assert "later(" not in usual.partition("\n")[2]
    assert "later(" in other


@ff.field_operator(backend=None)
def power_of_nothing(u: Edges, v: Cells) -> Cells:
    return u(C2E[1]) ** 0.0 * v


@ff.program(backend=None)
def powers(u: Edges, v: Cells, out: Cells):
    power_of_nothing(u, v, out=out)


def test_a_neighbour_without_influence_gets_zeros():
    given, seeds = given_fields()
    u_b = ff.full({Edge: EDGES}, np.nan)

    run = ff.adjoint(powers, wrt=("u",)).with_backend(ff.reference)
    run(given["u"], given["v"], seeds["out_b"], u_b, offset_provider=ff.transposed(mesh(0)))

    assert not u_b.asnumpy().any()
