"""The C++ backend under gt4py's names: `run_gtfn`, `GTFNBackendFactory`."""

from __future__ import annotations

from typing import Any

from ...workflows.backends import recipes
from ...workflows.backends.backend import Backend, cpu, gpu
from .recipe import customised, warn_of

__all__ = [
    "GTFNBackendFactory",
    "run_gtfn",
    "run_gtfn_cached",
    "run_gtfn_gpu",
    "run_gtfn_gpu_cached",
    "run_gtfn_imperative",
    "run_gtfn_no_transforms",
]

run_gtfn = run_gtfn_cached = run_gtfn_imperative = run_gtfn_no_transforms = cpu
run_gtfn_gpu = run_gtfn_gpu_cached = gpu

_CUSTOM = frozenset(("name", "allocator"))
_UNHONOURED = frozenset(("device_type", "executor", "key_function", "name_device", "transforms"))


def GTFNBackendFactory(  # noqa: N802 - a class in gt4py, called like this
    *, gpu: bool = False, cached: bool = True, name_postfix: str = "", **options: Any
) -> Backend:
    """Return the C++ backend, or with `gpu` the one for GPUs; results are always cached.

    `options` are those of `recipes.cpu` or `recipes.gpu`. A warning names the options of gt4py's
    own workflow, `otf_workflow__...`.

    >>> GTFNBackendFactory(name_postfix="_no_fold", fold=False).name
    'cpu_no_fold'
    """
    theirs = {name for name in options if name in _UNHONOURED or name.startswith("otf_workflow")}
    warn_of(theirs | (set() if cached else {"cached"}), "GTFNBackendFactory")
    ours = {name: options[name] for name in options.keys() - theirs - _CUSTOM}
    return customised((recipes.gpu if gpu else recipes.cpu)(**ours), name_postfix, options)
