"""Kernels of many programs under many options, and trees written by hand."""

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from fieldforge.examples.icosahedral import icosahedral
from fieldforge.examples.precision import in_precision
from fieldforge.stages import Lowered, Patches, Target, Variant
from fieldforge.stages.codegen.cpu.pass_list import cpu_passes
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.codegen.gpu.pass_list import gpu_passes
from fieldforge.stages.codegen.gpu.stage import CodegenGpu
from fieldforge.stages.codegen.passes import make_loops
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.loops.kernel import Kernel
from fieldforge.workflows.backends.backend import BACKENDS

PROGRAMS = (
    ("diffusion", "diffuse", "I"),
    ("mesh_dynamics", "dynamics", "K"),
    ("nabla", "nabla2", "K"),
    ("precipitation", "precipitate", "K"),
    ("tridiagonal", "solve", "K"),
    ("velocity_tendency", "velocity_tendency", "K"),
    ("vertical_advection", "advect", "I"),
)
CPU, GPU = Target(isa="x86-64-v3", cores=2), GpuTarget("sm_90")
STAGES: tuple[Any, ...] = (
    Codegen(attrs.evolve(CPU, l2=8192), stream_from=1),  # tiles of a few rows
    Codegen(CPU, jam=False, patches=Patches(elements=96, portion=24, least_bytes=1)),
    CodegenGpu(GPU),
    CodegenGpu(GPU, blocked=False, land=24),
    CodegenGpu(GPU, passes=("spread", "patch", "hand_on", "plan_arena")),
)
TABLES = icosahedral(4, 0).connectivities()


def lowered(example: str, program: str) -> Lowered:
    made = getattr(in_precision(example, np.float64), program).with_backend(BACKENDS["gpu"])
    return made.trace(until="lower", offset_provider=TABLES)["lower"].artifact


def kernels() -> Iterator[tuple[str, Kernel]]:
    """Yield each kernel after each pass that changed it, under a name that says which it is."""
    for example, program, unit in PROGRAMS:
        low = lowered(example, program)
        fields = [leaf for leaf in low.program.leaves if leaf.kind == "field"]
        variant = Variant(unit=tuple((leaf.name, unit) for leaf in fields))
        for number, stage in enumerate(STAGES):
            found: dict[Kernel, str] = {}
            on_cpu = isinstance(stage, Codegen)
            passes = cpu_passes(stage.chosen()) if on_cpu else gpu_passes(stage.passes)
            make_loops(
                low,
                variant,
                stage.rules(),
                passes,
                lambda step, made, found=found: found.setdefault(made, step),
            )
            for kernel, step in found.items():
                yield f"{example}.{program} {unit}, options {number}, after {step}", kernel


PLANES = """\
kernel planes
  dimension I horizontal
  dimension J horizontal
  dimension K vertical
  field u float64 [I, J, K] unit I
  arena @0 float64 [I, J] unit I order [J, I] box (I: 0 .. 8, J: 0 .. 8)
  group 0 (I: 0 .. 8, J: 0 .. 8, K: 1 .. n)
  step 0
    nest n0 group 0  # fills @0
      parallel J: 0 .. 8
        vector I: 0 .. 8
          %0 float64 constant 0.0
          %1 float64 store @0[0, 0] %0
    loop K: 1 .. n backward  # each plane reads other columns of the plane before
      nest n1 group 0  # stores u
        reads u (I: 0 .. 8, J: 0 .. 8, K: 0 .. n)
        parallel J: 0 .. 8
          vector I: 0 .. 8
            %0 int64 number n
            %1 float64 load u[1, 0, %0]
            %2 float64 load @0[0, 0]
            %3 float64 add %1 %2
            %4 float64 store @0[0, 0] %3
"""

COLUMNS = """\
kernel columns
  dimension I horizontal
  dimension K vertical
  scalar limit float64
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. n, K: 0 .. 40)
  step 0
    column group 0 registers float64, int64  # settles until nothing falls
      reads u (I: 0 .. n, K: 0 .. 40)
      parallel I: 0 .. n
        %0 float64 constant 0.0
        %1 int64 constant 3
        %2 float64 set 0 %0
        sweep K: 0 .. 40 backward
          %3 float64 load u[0, 0]
          %4 float64 argument limit
          %5 bool gt %3 %4
          if %5
            %6 float64 get 0
            %7 float64 add %6 %3
            %8 float64 set 0 %7
          else
            %9 float64 store out[0, %1+1] %3 when %5 add
          while
            %10 float64 get 0
            %11 bool lt %10 %4
          holds %11
            %12 float64 mul %10 %3
            %13 float64 set 0 %12
          %14 float64 load out[0, -1]
          %15 float64 store out %14
"""
