"""The DaCe backend under gt4py's names: `run_dace_cpu`, `make_dace_backend`."""

from __future__ import annotations

from typing import Any, Final

from ....workflows.backends import recipes
from ....workflows.backends.backend import Backend
from ....workflows.backends.ready_made import dace_cpu, dace_gpu
from ..recipe import customised, warn_of

__all__ = [
    "make_dace_backend",
    "run_dace_cpu",
    "run_dace_cpu_cached",
    "run_dace_cpu_noopt",
    "run_dace_gpu",
    "run_dace_gpu_cached",
    "run_dace_gpu_noopt",
]

run_dace_cpu = run_dace_cpu_cached = run_dace_cpu_noopt = dace_cpu
run_dace_gpu = run_dace_gpu_cached = run_dace_gpu_noopt = dace_gpu

# What tunes the optimiser and the calls of gt4py's DaCe backend and changes no result, each with
# the value that asks for what ours does anyway: it takes its schedule from our own cost model
# (docs/decisions/0006), its calls return when they are done, and metrics are taken when asked for.
_TUNING: Final[dict[str, Any]] = {
    "async_sdfg_call": False,
    "auto_optimize": True,
    "external_workspace": None,
    "optimization_args": None,
    "unstructured_horizontal_has_unit_stride": False,
    "use_max_domain_range_on_unstructured_shift": None,
    "use_metrics": True,
    "use_zero_origin": False,
}


def make_dace_backend(gpu: bool = False, *, name_postfix: str = "", **options: Any) -> Backend:
    """Return the DaCe backend; `options` are those of `recipes.dace`.

    A backend for GPUs may be made anywhere; to allocate or build by it is an error so far.
    gt4py's tuning is accepted; what ours does not follow of it is named in a warning.

    >>> make_dace_backend(gpu=False, auto_optimize=True, parallel_from=1).name
    'dace_cpu'
    """
    changed = (name for name in options.keys() & _TUNING.keys() if _asks(name, options[name]))
    warn_of(changed, "make_dace_backend")
    ours = {name: value for name, value in options.items() if name not in _TUNING}
    return customised((recipes.dace_gpu if gpu else recipes.dace)(**ours), name_postfix, {})


def _asks(name: str, value: Any) -> bool:
    """Tell whether an option asks for something that ours does not do."""
    usual = _TUNING[name]
    return bool(value) if usual is None else value != usual
