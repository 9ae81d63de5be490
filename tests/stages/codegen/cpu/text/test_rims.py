"""Loops cut by regions: the inner part has vectors, the rims are plain loops."""

from __future__ import annotations

from cases import cavity

from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.lower.stage import Lower
from fieldforge.stages.target import CpuTarget
from fieldforge.workflows.builds.building import parsed


def test_four_walls_are_one_nest_with_one_vectorised_part() -> None:
    program = cavity.cavity("float64", 0.1).program
    variant = program._variants.shape.default({})
    lowered = Lower().run(parsed=parsed(program.__definition__), variant=variant)["lowered"]

    made = Codegen(target=CpuTarget("x86-64-v3")).run(lowered=lowered, variant=variant)["generated"]

    assert made.loops.count("    nest n") == 1
    assert made.loops.count("part I: ") == 3
    # the masked end of a row, its strips on usual rows, and those on the first and the last row
    assert made.source.count("#pragma omp simd\n") == 3
    assert len(made.source) < 40_000
