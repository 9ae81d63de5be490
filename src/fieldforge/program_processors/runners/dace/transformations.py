"""Counterpart of gt4py's DaCe transformations, for models.

Hooks receive our SDFGs. This module has the transformations that DaCe has as well. Functions that
edit graphs of gt4py's shape, such as those of `utils`, raise an error. The first use of a
transformation imports DaCe.
"""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any, Final, NoReturn

from ....runtime.process import OptionError
from .hooks import GT4PyAutoOptHook

__all__ = [
    "GT4PyAutoOptHook",
    "TransientMemoryMode",
    "gt_propagate_strides_from_access_node",
    "gt_simplify",
    "utils",
]


class TransientMemoryMode(enum.StrEnum):
    """The place of temporaries; ours lie in a persistent arena, or in memory of the caller."""

    SCOPED = "SCOPED"
    PERSISTENT = "PERSISTENT"
    POOL = "POOL"
    EXTERNAL = "EXTERNAL"


# Copies between arrays are tasklets in our SDFGs; these passes remove copies that others add.
_OF_DACE: Final = {
    "MapFusionHorizontal": "MapFusionHorizontal",
    "MapFusionVertical": "MapFusionVertical",
    "RemoveAccessNodeCopies": "RedundantArray",
}


def __getattr__(name: str) -> Any:
    if name in _OF_DACE:
        from dace.transformation import dataflow

        return getattr(dataflow, _OF_DACE[name])
    raise AttributeError(f"Module '{__name__}' has no attribute '{name}'.")


def gt_simplify(sdfg: Any, **_: Any) -> None:
    """Simplify an SDFG as the pass 'simplify' does."""
    from ....stages.codegen.dace.options import DaceOptions
    from ....stages.codegen.dace.transformations import simplify

    simplify(sdfg, DaceOptions())


def _of_another_shape(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OptionError(
            f"'{name}' edits SDFGs of gt4py's shape, which those of fieldforge do not have.",
            hints=["Leave out the hook that calls it, or edit the SDFG by DaCe's own functions."],
        )

    refuse.__name__ = name
    return refuse


gt_propagate_strides_from_access_node = _of_another_shape("gt_propagate_strides_from_access_node")
utils = SimpleNamespace(
    reroute_edge=_of_another_shape("reroute_edge"),
    reconfigure_dataflow_after_rerouting=_of_another_shape("reconfigure_dataflow_after_rerouting"),
)
