"""One kernel for nests that read the same: the points of a call decide, and the same bits."""

from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import neighbor_sum
from fieldforge.examples.icosahedral import C2E, E2C, C2EDim, Cell, E2CDim, Edge, K, icosahedral
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen.gpu.options import GPU_PASSES
from fieldforge.stages.codegen.gpu.stage import CodegenGpu
from fieldforge.stages.codegen.pass_list import without
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.bounds import evaluate
from fieldforge.workflows.backends.backend import BACKENDS

HOST = BACKENDS["gpu-host"]
LEVELS = 6
MESH = icosahedral(3, 0)
CellField = ff.Field[ff.Dims[Cell, K], ff.float64]
EdgeField = ff.Field[ff.Dims[Edge, K], ff.float64]
OfCellEdges = ff.Field[ff.Dims[Cell, C2EDim], ff.float64]
OfEdgeCells = ff.Field[ff.Dims[Edge, E2CDim], ff.float64]


@ff.field_operator
def energy(vn: EdgeField, vt: EdgeField, weights: OfCellEdges) -> CellField:
    squares = 0.5 * (vn * vn + vt * vt)
    return neighbor_sum(squares(C2E) * weights, axis=C2EDim)


@ff.field_operator
def on_both(
    vn: EdgeField, vt: EdgeField, w: CellField, weights: OfCellEdges, linear: OfEdgeCells
) -> tuple[EdgeField, CellField]:
    inner = energy(vn, vt, weights)
    climb = neighbor_sum(inner(E2C) * linear, axis=E2CDim) - vt
    product = vn * vt + 1.0 / vn
    drift = neighbor_sum(product(C2E) * weights, axis=C2EDim) + w
    return climb, drift


@ff.program
def both(
    vn: EdgeField, vt: EdgeField, w: CellField, weights: OfCellEdges, linear: OfEdgeCells,
    climb: EdgeField, drift: CellField, edges: ff.int32, cells: ff.int32,
):  # fmt: skip
    on_both(
        vn, vt, w, weights, linear, out=(climb, drift),
        domain=({Edge: (0, edges), K: (0, 6)}, {Cell: (0, cells), K: (0, 6)}),
    )  # fmt: skip


def fields(allocator: object = None) -> dict[str, Any]:
    """Return arguments of `both` for whole fields."""
    numbers = np.random.default_rng(4)
    edges, cells = MESH.edges, MESH.cells

    def made(domain: Any) -> Any:
        shape = tuple(n if isinstance(n, int) else n[1] for n in domain.values())
        return ff.as_field(domain, numbers.uniform(0.5, 2, shape), allocator=allocator)

    return {
        "vn": made({Edge: edges, K: LEVELS}), "vt": made({Edge: edges, K: LEVELS}),
        "w": made({Cell: cells, K: LEVELS}), "weights": made({Cell: cells, C2EDim: 3}),
        "linear": made({Edge: edges, E2CDim: 2}), "climb": made({Edge: edges, K: LEVELS}),
        "drift": made({Cell: cells, K: LEVELS}), "edges": edges, "cells": cells,
    }  # fmt: skip


def test_the_points_of_a_call_decide() -> None:
    lowered = both.with_backend(BACKENDS["gpu"]).trace(
        until="lower", offset_provider=MESH.connectivities()
    )["lower"].artifact  # fmt: skip
    unit = {leaf.name: leaf.dims for leaf in lowered.program.leaves if leaf.kind == "field"}
    variant = Variant(
        unit=tuple((name, "K" if K in dims else dims[0].value) for name, dims in unit.items())
    )
    made = CodegenGpu(GpuTarget("sm_90"), patches=False).run(lowered=lowered, variant=variant)
    interface = made["interface"]
    first, second, fused, last = interface.launches
    blocks = [interface.ints[launch.blocks[0]] for launch in (first, second, fused, last)]

    def counts(edges: int, cells: int, reached: int) -> list[int]:
        def value_of(symbol: Any) -> int:
            known = {"edges": edges, "cells": cells}
            return known.get(getattr(symbol, "name", ""), reached if "beyond" in str(symbol) else 0)

        return [evaluate(bound, value_of) for bound in blocks]

    same, other = counts(30, 20, 20), counts(30, 15, 20)
    assert [count > 0 for count in same] == [False, False, True, True]
    assert [count > 0 for count in other] == [True, True, False, True]


@pytest.mark.needs_compiler
@pytest.mark.parametrize("allocator", [None, np], ids=["ours", "NumPy"])
@pytest.mark.parametrize("cells", [MESH.cells, 11, 0])
@pytest.mark.parametrize("passes", [GPU_PASSES, without(GPU_PASSES, "widen")], ids=["all", "plain"])
def test_fused_kernels_have_the_bits_of_the_cpu(allocator: object, cells: int, passes: Any) -> None:
    found = []
    for backend in (ff.cpu, HOST.with_options(passes=passes)):
        given = fields(allocator) | {"cells": cells}
        both.with_backend(backend)(**given, offset_provider=MESH.connectivities())
        found.append([given[name].asnumpy() for name in ("climb", "drift")])
    assert all((one == other).all() for one, other in zip(*found, strict=True))


@pytest.mark.needs_compiler
@pytest.mark.parametrize(("target", "source"), [("climb", "vt"), ("climb", "vn"), ("drift", "w")])
def test_an_output_may_lie_in_the_memory_of_an_input(target: str, source: str) -> None:
    found = []
    for backend in (ff.cpu, HOST, HOST.with_options(passes=without(GPU_PASSES, "fuse"))):
        given = fields()
        given[target] = given[source]
        both.with_backend(backend)(**given, offset_provider=MESH.connectivities())
        found.append([given[name].asnumpy() for name in ("climb", "drift")])
    for other in found[1:]:
        assert all((one == each).all() for one, each in zip(found[0], other, strict=True))
