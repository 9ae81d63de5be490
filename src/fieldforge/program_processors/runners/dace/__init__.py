"""The DaCe backend under gt4py's names: `run_dace_cpu`, `make_dace_backend`."""

from __future__ import annotations

from typing import Any

from ....workflows.backends import recipes
from ....workflows.backends.backend import Backend
from ....workflows.backends.ready_made import dace_cpu
from ..recipe import refuse_gpu, renamed

__all__ = ["make_dace_backend", "run_dace_cpu", "run_dace_cpu_cached", "run_dace_cpu_noopt"]

run_dace_cpu = run_dace_cpu_cached = run_dace_cpu_noopt = dace_cpu

# What tunes the optimiser and the calls of gt4py's DaCe backend, and changes no result.
# Ours takes its schedule from our own cost model (docs/decisions/0006), nothing is to be tuned.
_TUNING = frozenset((
    "async_sdfg_call", "auto_optimize", "external_workspace", "optimization_args",
    "unstructured_horizontal_has_unit_stride", "use_max_domain_range_on_unstructured_shift",
    "use_metrics", "use_zero_origin",
))  # fmt: skip


def make_dace_backend(gpu: bool = False, *, name_postfix: str = "", **options: Any) -> Backend:
    """Return the DaCe backend; `options` are those of `recipes.dace`, gt4py's tuning is accepted.

    >>> make_dace_backend(gpu=False, auto_optimize=True, parallel_from=1).name
    'dace_cpu'
    """
    refuse_gpu(gpu)
    ours = {name: value for name, value in options.items() if name not in _TUNING}
    return renamed(recipes.dace(**ours), name_postfix)
