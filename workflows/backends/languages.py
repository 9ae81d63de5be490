"""One backend for both languages: the stages that read programs, or those that read stencils."""

from __future__ import annotations

from typing import Any, Final

from ...runtime.process import classes
from ...stages.base import Stage
from ...stages.gtscript.stage import LowerStencil, ParseStencil
from ...stages.lower.stage import Lower
from ...stages.parse.stage import Parse
from .backend import Backend

_STENCILS: Final[dict[type[Stage], type[Stage]]] = {Parse: ParseStencil, Lower: LowerStencil}
_PROGRAMS: Final = {new: old for old, new in _STENCILS.items()}


def for_stencils(backend: Backend) -> Backend:
    """Return a backend that reads GTScript; its other stages are the same.

    >>> from fieldforge import cpu
    >>> [type(stage).__name__ for _, stage in for_stencils(cpu).workflow.nodes][:2]
    ['ParseStencil', 'LowerStencil']
    """
    return _kept(backend, "_for_stencils", _STENCILS)


def for_programs(backend: Backend) -> Backend:
    """Return a backend that reads programs and operators; its other stages are the same.

    >>> from fieldforge import cpu
    >>> for_programs(for_stencils(cpu)) == cpu, for_programs(cpu) is cpu
    (True, True)
    """
    return _kept(backend, "_for_programs", _PROGRAMS)


def _kept(backend: Backend, key: str, kinds: dict[type[Stage], type[Stage]]) -> Backend:
    """Make another backend once, and keep it with the object: equal ones may differ in tools."""
    found: Backend | None = vars(backend).get(key)
    if found is None:
        new = {
            name: _as(kinds[type(stage)], stage)
            for name, stage in backend.workflow.nodes
            if type(stage) in kinds
        }
        found = backend.with_workflow(backend.workflow.replace(**new)) if new else backend
        vars(backend)[key] = found
    return found


def _as(kind: type[Stage], stage: Stage) -> Stage:
    """Return a stage of another class with the options of `stage` that both have."""
    own = {each.name for each in classes.fields(kind)}
    options: dict[str, Any] = {
        each.name: getattr(stage, each.name)
        for each in classes.fields(type(stage))
        if each.name in own
    }
    return kind(**options)
