"""Meshes of one dimension: tables tell single elements, not rows of levels."""

import re
from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import neighbor_sum, sqrt, where
from fieldforge.examples.icosahedral import C2E, E2C, C2EDim, Cell, Edge
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.lower.stage import Lower
from fieldforge.stages.target import CpuTarget
from fieldforge.workflows.builds.building import parsed

from .mesh_programs import CELLS, CPU, EDGES, TABLES, field, run

OnCells = ff.Field[ff.Dims[Cell], ff.float64]
OnEdges = ff.Field[ff.Dims[Edge], ff.float64]
Signs = ff.Field[ff.Dims[Cell, C2EDim], ff.float64]


@ff.field_operator
def upwind(q: OnCells, vn: OnEdges, sign: Signs) -> OnCells:
    flux = where(vn > 1.0, q(E2C[0]), q(E2C[1])) * vn
    return neighbor_sum(flux(C2E) * sign, axis=C2EDim)


@ff.field_operator
def scaled(q: OnCells, vn: OnEdges, sign: Signs) -> OnCells:
    flux = 2.0 * vn
    return q + neighbor_sum(flux(C2E) * sign, axis=C2EDim)


@ff.field_operator
def waves(q: OnCells, vn: OnEdges, sign: Signs) -> tuple[OnCells, OnCells]:
    mean = sqrt(q(E2C[0]) * q(E2C[0]) + q(E2C[1]) * q(E2C[1]))
    slow, fast = sqrt(mean + vn * vn) - vn, sqrt(mean + 2.0 * vn * vn) + vn
    mass, push = mean * slow - fast, mean * fast + slow
    return (
        neighbor_sum(mass(C2E) * sign, axis=C2EDim), neighbor_sum(push(C2E) * sign, axis=C2EDim)
    )  # fmt: skip


@ff.program
def moved(q: OnCells, vn: OnEdges, sign: Signs, out: OnCells):
    upwind(q, vn, sign, out=out)


@ff.program
def doubled(q: OnCells, vn: OnEdges, sign: Signs, out: OnCells):
    scaled(q, vn, sign, out=out)


@ff.program
def waved(q: OnCells, vn: OnEdges, sign: Signs, out: OnCells, other: OnCells):
    waves(q, vn, sign, out=(out, other))


def generated(program: Any, isa: str = "x86-64-v4") -> Any:
    variant = program._variants.shape.default(TABLES)
    lowered = Lower().run(parsed=parsed(program.__definition__), variant=variant)["lowered"]
    return Codegen(target=CpuTarget(isa)).run(lowered=lowered, variant=variant)["generated"]


def test_a_flux_that_cells_read_is_stored_on_edges() -> None:
    loops = generated(moved).loops
    (reason,) = re.findall(r"arena @\d+ float64 \[Edge\].*# %\d+ (.*)", loops)
    assert reason == "is an array: 3 points x 35 operations, 70 again > 29 to store"


def test_a_value_that_each_cell_computes_again_is_named() -> None:
    loops = generated(doubled).loops
    assert "arena" not in loops
    assert re.findall(r"# %\d+ (.*)", loops) == [
        "is computed in place: 3 points x 1 operations, 2 again <= 29 to store"
    ]


def test_two_fluxes_are_stored_and_not_the_three_values_that_both_are_made_from() -> None:
    loops = generated(waved).loops
    assert loops.count("  arena ") == 2
    (fills,) = re.findall(r"nest n\d+ .*# fills (.*);", loops)
    assert fills.count("@") == 2
    assert loops.count(" sqrt ") == 3


@pytest.mark.parametrize(("isa", "lanes"), [("x86-64-v4", 8), ("x86-64-v3", 4)])
def test_loops_over_cells_have_vectors_of_one_register(isa: str, lanes: int) -> None:
    source = generated(moved, isa).source
    assert re.findall(r"#pragma omp simd(.*)", source) == [f" simdlen({lanes})"] * 2


@pytest.mark.needs_compiler
@pytest.mark.parametrize("program", [moved, doubled])
def test_both_have_the_bits_of_embedded_execution(program: Any) -> None:
    rng = np.random.default_rng(3)
    arguments = {
        "q": field(rng, (Cell, CELLS)),
        "vn": field(rng, (Edge, EDGES)),
        "sign": field(rng, (Cell, CELLS), (C2EDim, 3)),
        "out": ff.zeros({Cell: CELLS}),
    }
    (embedded,) = run(program, None, arguments, ["out"])
    (compiled,) = run(program, CPU.with_options(numerics="strict"), arguments, ["out"])
    assert np.array_equal(compiled, embedded)
