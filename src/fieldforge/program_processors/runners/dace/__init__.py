"""The DaCe backend under gt4py's names: `run_dace_cpu`, `make_dace_backend`."""

from __future__ import annotations

from typing import Any

import attrs

from ....workflows.backends import recipes
from ....workflows.backends.backend import Backend, dace_cpu, dace_gpu
from ..recipe import customised
from .options import translated

__all__ = [
    "make_dace_backend",
    "run_dace_cpu",
    "run_dace_cpu_cached",
    "run_dace_cpu_noopt",
    "run_dace_gpu",
    "run_dace_gpu_cached",
    "run_dace_gpu_noopt",
]

run_dace_cpu = run_dace_cpu_cached = dace_cpu
run_dace_cpu_noopt = attrs.evolve(dace_cpu, made=lambda: recipes.dace(auto_optimize=False).workflow)
run_dace_gpu = run_dace_gpu_cached = dace_gpu
run_dace_gpu_noopt = attrs.evolve(
    dace_gpu, made=lambda: recipes.dace_gpu(auto_optimize=False).workflow
)


def make_dace_backend(gpu: bool = False, *, name_postfix: str = "", **options: Any) -> Backend:
    """Return the DaCe backend; `options` are gt4py's, and those of `recipes.dace`.

    Of gt4py's options, `auto_optimize` and the arguments in `optimization_args` for blocks, scans,
    tasklets and hooks take effect, on GPUs also `async_sdfg_call` and those for threads and
    registers; a warning tells why the others are not needed here.

    >>> make_dace_backend(gpu=False, auto_optimize=False).options["codegen.auto_optimize"]
    False

    Raises:
        OptionError: for an option that neither gt4py nor fieldforge has.

    """
    ours = translated(options, "make_dace_backend", gpu=gpu)
    made = recipes.dace_gpu(**ours) if gpu else recipes.dace(**ours)
    return customised(made, name_postfix, {})
