"""DaCe's transformations by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from .options import DaceOptions

# Passes of DaCe's 'simplify' that do not run. States must not fuse, because their order protects
# values from being overwritten, also where two arguments of a call share memory, which an SDFG
# cannot express. `LiftTrivialIf` takes minutes on large graphs. `ScalarToSymbolPromotion` reads
# the C++ of tasklets as Python, to which 'true' is a symbol that nobody defines.
LEFT_OUT: Final = ("FuseStates", "LiftTrivialIf", "ScalarToSymbolPromotion")


def simplify(sdfg: Any, _: DaceOptions, *more_left_out: str) -> int:
    """Inline needless nesting, remove unused data, propagate constants."""
    from dace.transformation.pass_pipeline import Pipeline
    from dace.transformation.passes import simplify as simplification

    left_out = (*LEFT_OUT, *more_left_out)
    passes = [kind() for kind in simplification.SIMPLIFY_PASSES if kind.__name__ not in left_out]
    Pipeline(passes).apply_pass(sdfg, {})
    return 1


def block(sdfg: Any, options: DaceOptions) -> int:
    """Cut loops into blocks, which go outside; here 'blocking_dims' are the names of loops."""
    from dace.sdfg import nodes
    from dace.transformation.dataflow import StripMining

    count = 0
    for state in states_of(sdfg):
        for entry in [each for each in state.nodes() if isinstance(each, nodes.MapEntry)]:
            around = entry
            for param in [each for each in entry.map.params if each in options.blocking_dims]:
                cut = {
                    "dim_idx": around.map.params.index(param),
                    "new_dim_prefix": "block",
                    "tile_size": str(options.blocking_size),
                }
                StripMining.apply_to(state.sdfg, options=cut, map_entry=around, verify=False)
                around = _keep_threads(state, around, param)
                count += 1
    return count


def _keep_threads(state: Any, inner: Any, param: str) -> Any:
    """Let a thread of a GPU loop over a block: only that loop stays inside the map of blocks.

    Return the map to cut next: that of blocks on a GPU, else the one inside.
    """
    from dace.dtypes import ScheduleType
    from dace.subsets import Range

    outer = state.entry_node(inner)
    if outer.map.schedule != ScheduleType.GPU_Device:
        return inner
    ranges = dict(zip(inner.map.params, inner.map.range.ranges, strict=True))
    (first,) = outer.map.range.ranges
    (name,) = outer.map.params
    outer.map.range = Range([first if each == param else ranges[each] for each in ranges])
    outer.map.params = [name if each == param else each for each in ranges]
    outer.map.gpu_block_size = inner.map.gpu_block_size
    outer.map.gpu_launch_bounds = inner.map.gpu_launch_bounds
    outer.map.gpu_maxnreg = inner.map.gpu_maxnreg
    inner.map.params, inner.map.range = [param], Range([ranges[param]])
    outer.map.schedule, inner.map.schedule = ScheduleType.GPU_Device, ScheduleType.Sequential
    return outer


def unroll_scans(sdfg: Any, options: DaceOptions) -> int:
    """Ask the compiler to unroll the loops over levels of scans."""
    from dace.sdfg.state import LoopRegion

    loops = [each for each in sdfg.all_control_flow_regions(recursive=True)
             if isinstance(each, LoopRegion)]  # fmt: skip
    for loop in loops:
        loop.unroll, loop.unroll_factor = True, options.unroll_scans
    return len(loops)


def states_of(sdfg: Any) -> list[Any]:
    """Return the states of an SDFG and of those nested in it."""
    return [state for each in sdfg.all_sdfgs_recursive() for state in each.states()]


def maps_in(state: Any) -> int:
    """Return how many maps a state has."""
    from dace.sdfg import nodes

    return sum(isinstance(node, nodes.MapEntry) for node in state.nodes())


def _everywhere(name: str, sdfg: Any, options: DaceOptions) -> int:
    """Apply a transformation of DaCe until it finds no match, or the budget is spent."""
    from dace.transformation import dataflow

    count = 0
    while count <= options.most_applications:
        applied = sdfg.apply_transformations_once_everywhere(
            getattr(dataflow, name), validate=False, validate_all=False, print_report=False
        )
        if not applied:
            break
        count += applied
    return count


BY_NAME: Final[Mapping[str, Callable[[Any, DaceOptions], int]]] = {
    "simplify": simplify,
    # Join a map with one that reads its results point by point, so that they stay in registers.
    "fuse_vertical": partial(_everywhere, "MapFusionVertical"),
    # Join maps over the same range that do not depend on each other.
    "fuse_horizontal": partial(_everywhere, "MapFusionHorizontal"),
    # Join tasklets that hand on a number.
    "fuse_tasklets": partial(_everywhere, "TaskletFusion"),
    "block": block,
    "unroll_scans": unroll_scans,
}
