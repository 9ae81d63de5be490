"""The programs, options and targets for which `sources.py` generates code.

Drawn programs are kept as texts, so that they stay the same when `tests/generated` draws others;
`python -m bench.corpus` draws them anew.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import attrs
from tests.generated.building import SMALL_GPU, define
from tests.generated.features import EVERY
from tests.generated.fuzz import draw_batch
from tests.generated.grids import HORIZONTAL

from fieldforge.examples.precision import in_precision
from fieldforge.runtime.language.types import FieldType, leaves
from fieldforge.stages import CpuTarget, Lowered, Patches, Stage, ThreadBlock, ThreadPoints, Variant
from fieldforge.stages.bind.stage import Bind
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.codegen.dace.gpu.stage import CodegenDaceGpu
from fieldforge.stages.codegen.dace.stage import CodegenDace
from fieldforge.stages.codegen.gpu.stage import CodegenGpu
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.dataflow import Map
from fieldforge.stages.lower.stage import Lower
from fieldforge.workflows.builds.building import parsed

Options = Mapping[str, Any]

EXAMPLES: Final = (  # those that take longest first
    "precipitation.precipitate", "moist_columns.programs.step",
    "velocity_tendency.velocity_tendency", "mesh_dynamics.dynamics", "vertical_advection.advect",
    "moist_columns.programs.mixed", "moist_columns.programs.transported",
    "shallow_water.programs.advance", "shallow_water.programs.diagnose", "tridiagonal.solve",
    "saturation_adjustment.adjust", "shallow_water_cartesian.advance", "advection.step_corrected",
    "advection.step_mpdata", "advection.step_upwind", "laplacians.twenty_seven_points",
    "laplacians.seven_points", "diffusion.diffuse", "terrain.smooth_step", "nabla.nabla2",
    "nabla.nabla4", "nabla.gradient", "heat_on_triangles.step", "shallow_water_cartesian.fill",
    "exported.model.diffuse", "exported.model.average",
)  # fmt: skip
KEPT: Final = Path(__file__).parent / "drawn.json"
DRAWN: Final = 200
EXTENT: Final = 64  # of every dimension, where domains are compiled in


@attrs.frozen
class TableType:
    """All that a build has to know of a neighbour table."""

    max_neighbors: int
    skip_value: int | None = None


TABLES: Final = {
    "E2V": TableType(2), "E2C": TableType(2), "E2C2V": TableType(4), "C2E": TableType(3),
    "C2V": TableType(3), "C2E2C": TableType(3), "C2C": TableType(2), "V2E": TableType(6, -1),
    "V2C": TableType(6, -1), "E2E2C": TableType(10, -1),
}  # fmt: skip


@attrs.frozen
class Target:
    """A backend on a machine: its stage, and which options of a `Choice` it takes."""

    stage: Callable[..., Stage]
    takes: str
    options: Options = attrs.field(factory=dict)


CPU: Final = CpuTarget("x86-64-v3", cores=64, bandwidth=64 * 30e9, vector_math=True)
SMALL_CPU: Final = attrs.evolve(CPU, l2=2048)
OLD_CPU: Final = attrs.evolve(CPU, isa="x86-64-v2", vector_bytes=16)
TARGETS: Final = {
    "cpu": Target(Codegen, "cpu", {"target": CPU}),
    "gpu-host": Target(CodegenGpu, "gpu", {"host": True}),
    "sm_90": Target(CodegenGpu, "gpu", {"target": GpuTarget("sm_90")}),
    "sm_80": Target(CodegenGpu, "gpu", {"target": GpuTarget("sm_80")}),
    "gfx942": Target(CodegenGpu, "gpu", {"target": GpuTarget("gfx942")}),
    "dace_cpu": Target(CodegenDace, "dace_cpu", {"target": CPU}),
    "dace_gpu": Target(CodegenDaceGpu, "dace_gpu"),
}


@attrs.frozen
class Choice:
    """Options of the code generators, and the facts about arguments that builds know.

    `layout` says which dimension of a field has unit stride: the 'usual' one, the 'other' end of
    its dimensions, or 'any'. With `domains` they are compiled in, with `arrays` each computed value
    becomes one. DaCe takes most of the time and has fewer choices: None leaves it out.
    """

    cpu: Options = attrs.field(factory=dict)
    gpu: Options = attrs.field(factory=dict)
    dace_cpu: Options | None = attrs.field(factory=dict)
    dace_gpu: Options | None = attrs.field(factory=dict)
    dtype: str = "float64"
    layout: str = "usual"
    domains: bool = False
    checked: bool = False
    arrays: bool = False


CHOICES: Final = {
    "usual": Choice(),
    "single": Choice(dtype="float32", dace_cpu=None, dace_gpu=None),
    "other layout": Choice(layout="other"),
    "any layout": Choice(
        layout="any",
        cpu={"numerics": "fast", "mathematics": "library"},
        gpu={
            "mathematics": "library", "points": ThreadPoints(x=1), "block": ThreadBlock(x=64),
            "keep": False,
        },
        dace_cpu=None,
        dace_gpu=None,
    ),
    "small": Choice(
        cpu={
            "target": SMALL_CPU, "stream_from": 1, "parallel_from": 0,
            "patches": Patches(elements=64, portion=16, least_bytes=1),
        },
        gpu={**SMALL_GPU, "patches": Patches(elements=40, levels=4, points=2, threads=64)},
        dace_cpu={"target": SMALL_CPU, "stream_from": 1, "parallel_from": 1},
        dace_gpu=None,
    ),
    "plain": Choice(
        cpu={
            "target": OLD_CPU, "numerics": "strict", "jam": False, "prefetch": False,
            "unswitch": False, "stream_from": 0, "tile_size": 8, "patches": False,
        },
        gpu={
            "numerics": "strict", "ahead": -1, "shared": False, "tile_columns": -1,
            "unaligned": False, "blocked": False, "land": -1, "patches": False,
        },
        dace_cpu={"jam": False, "prefetch": False, "tiles": False, "stream_from": 0},
        dace_gpu={
            "columns_beside": False, "block_3d": ThreadBlock(x=64, y=2, z=2), "launch_factor": 2,
        },
    ),
    "arrays": Choice(arrays=True, domains=True, dace_cpu=None, dace_gpu=None),
    "checked": Choice(checked=True),
}  # fmt: skip


def programs() -> list[str]:
    """Return the names of all programs, those that take longest first."""
    return [*EXAMPLES, *(f"drawn {number}" for number in range(DRAWN))]


@functools.cache
def drawn() -> list[str]:
    """Return the texts of the drawn programs."""
    texts: list[str] = json.loads(KEPT.read_text())
    return texts


def draw() -> None:
    """Draw programs of all features."""
    texts = [case.text for case in draw_batch(0, 0, DRAWN, EVERY)]
    KEPT.write_text(json.dumps(texts, indent=0) + "\n")


def generated(program: str, pattern: str = "*") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a program that match: 'target/program/choice', texts by names of files.

    A drawn program has one choice of options, an example all of them.
    """
    names = list(CHOICES)
    number = int(program.removeprefix("drawn ")) if program.startswith("drawn ") else None
    for name in names if number is None else [names[number % len(names)]]:
        choice = CHOICES[name]
        lowered, variant = _lowered(program, number, choice)
        more = {"arrays": _maps(lowered)} if choice.arrays else {}
        more |= {"checked": True} if choice.checked else {}
        for place, target in TARGETS.items():
            options = getattr(choice, target.takes)
            row = f"{place}/{program}/{name}"
            if options is not None and fnmatchcase(row, pattern):
                stage = target.stage(**{**target.options, **options, **more})
                yield row, _texts(stage, lowered, variant)


def _lowered(program: str, number: int | None, choice: Choice) -> tuple[Lowered, Variant]:
    """Lower a program for fields of a layout, without arguments."""
    tables: Mapping[str, Any] = TABLES
    domains = None
    if number is None:
        module, _, name = program.rpartition(".")
        made: Any = getattr(in_precision(module, choice.dtype), name)
        domains = dict.fromkeys(_dims(made), EXTENT) if choice.domains else None
    else:
        text = drawn()[number]
        names = define(text, any(dim in text for dim in HORIZONTAL))
        made, tables = names["program_under_test"], names.get("tables", {})
    variant = made._variants.shape.default(tables, domains=domains)
    stage = Lower(checked=choice.checked)
    found = stage.run(parsed=parsed(made.__definition__), variant=variant)["lowered"]
    assert isinstance(found, Lowered)
    return found, _laid_out(found, variant, choice.layout)


def _dims(program: Any) -> set[str]:
    types = program._variants.shape.types.values()
    found = (leaf for type_ in types for _, leaf in leaves(type_))
    return {dim.value for leaf in found if isinstance(leaf, FieldType) for dim in leaf.dims}


def _laid_out(lowered: Lowered, variant: Variant, layout: str) -> Variant:
    if layout == "usual":
        return variant
    dims = {leaf.name: leaf.dims for leaf in lowered.program.leaves}
    unit = tuple(
        (name, dims[name][0 if dims[name][-1].value == usual else -1].value)
        for name, usual in variant.unit
    )
    return attrs.evolve(variant, unit=unit if layout == "other" else ())


def _maps(lowered: Lowered) -> tuple[str, ...]:
    """Return the names of the computed values."""
    values = enumerate(lowered.program.values)
    return tuple(f"%{place}" for place, value in values if isinstance(value, Map) and value.dims)


def _texts(stage: Stage, lowered: Lowered, variant: Variant) -> dict[str, str]:
    try:
        made: Mapping[str, Any] = stage.run(lowered=lowered, variant=variant)
    except Exception as error:  # a row, too: what is refused today is to be refused tomorrow
        return {"refused.txt": f"{type(error).__name__}: {error}"}
    bound = Bind().run(interface=made["interface"])["bound"]
    files: dict[str, str] = {}
    for artifact in (made["generated"], made["interface"], bound):
        files |= {name: data.decode() for name, data in artifact.files().items()}
    return files


if __name__ == "__main__":
    draw()
