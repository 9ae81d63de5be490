"""The C++ backend under gt4py's names: `run_gtfn`, `GTFNBackendFactory`."""

from __future__ import annotations

from typing import Any

from ...workflows.backends import recipes
from ...workflows.backends.backend import Backend
from ...workflows.backends.ready_made import cpu
from .recipe import refuse_gpu, renamed

__all__ = ["GTFNBackendFactory", "run_gtfn", "run_gtfn_cached", "run_gtfn_imperative"]

run_gtfn = run_gtfn_cached = run_gtfn_imperative = cpu


def GTFNBackendFactory(  # noqa: N802 - a class in gt4py, called like this
    *, gpu: bool = False, cached: bool = True, name_postfix: str = "", **options: Any
) -> Backend:
    """Return the C++ backend; `options` are those of `recipes.cpu`, results are always cached.

    Options of gt4py's own workflow, `otf_workflow__...`, have nothing here that they could change.

    >>> GTFNBackendFactory(name_postfix="_no_fold", fold=False).name
    'cpu_no_fold'
    """
    del cached
    refuse_gpu(gpu)
    ours = {name: value for name, value in options.items() if not name.startswith("otf_workflow")}
    return renamed(recipes.cpu(**ours), name_postfix)
