"""One kernel for nests that read the same: when, what the listing says, and how to do without."""

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
from fieldforge.stages.ir.loops.gpu import Patches
from fieldforge.stages.ir.loops.kernel import Choice, steps_of
from fieldforge.stages.ir.loops.nest import Load, Nest, Store
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of, nodes_of
from fieldforge.workflows.backends.backend import BACKENDS

TARGET = GpuTarget("sm_90")
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


@ff.field_operator
def on_both_apart(
    vn: EdgeField, vt: EdgeField, weights: OfCellEdges, linear: OfEdgeCells
) -> tuple[EdgeField, CellField]:
    inner = energy(vn, vt, weights)
    return neighbor_sum(inner(E2C) * linear, axis=E2CDim), neighbor_sum(vn(C2E), axis=C2EDim)


@ff.program
def little(
    vn: EdgeField, vt: EdgeField, weights: OfCellEdges, linear: OfEdgeCells,
    climb: EdgeField, drift: CellField,
):  # fmt: skip
    on_both_apart(vn, vt, weights, linear, out=(climb, drift))


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


def generated(unit: str, program: Any = both, **options: object) -> Any:
    lowered = program.with_backend(BACKENDS["gpu"]).trace(
        until="lower", offset_provider=MESH.connectivities()
    )["lower"].artifact  # fmt: skip
    leaves = [leaf for leaf in lowered.program.leaves if leaf.kind == "field"]
    own = {"K": "K", "horizontal": ""}[unit]
    variant = Variant(
        unit=tuple(
            (leaf.name, own if own in [d.value for d in leaf.dims] else leaf.dims[0].value)
            for leaf in leaves
        )
    )
    return CodegenGpu(TARGET, **options).run(lowered=lowered, variant=variant)


def fused(loops: str) -> list[Choice]:
    """Return the nests that run in place of others."""
    return [each for each in nodes_of(read(loops), Choice) if isinstance(each.then, Nest)]


@pytest.mark.parametrize("unit", ["K", "horizontal"])
def test_one_kernel_fills_an_array_beside_the_stores_that_read_the_same(unit: str) -> None:
    loops = generated(unit)["generated"].loops
    (choice,) = fused(loops)
    assert choice.reason.endswith(" from what nest 1 reads too")
    names = [row.buffer for row in choice.then.body if isinstance(row, Load)]
    assert names.count("vn") == 3  # once for each edge of a cell
    assert sum(isinstance(row, Store) for row in choice.then.body) == 2
    assert len(nests_of(choice.otherwise)) == 2


def test_without_the_pass_each_nest_is_a_kernel() -> None:
    made = generated("K", passes=without(GPU_PASSES, "fuse", "patch"))
    assert not fused(made["generated"].loops)
    assert len(made["interface"].launches) == 3


def test_nests_that_read_little_in_common_stay_apart() -> None:
    assert not fused(generated("K", program=little)["generated"].loops)


def test_nests_in_place_of_others_do_not_keep_patches_away() -> None:
    (choice, *_) = nodes_of(read(generated("K")["generated"].loops), Choice)
    assert any(isinstance(node, Patches) for node in steps_of(choice.then))


def test_the_points_of_a_call_decide() -> None:
    made = generated("K", patches=False)
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
