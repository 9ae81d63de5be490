"""DaCe's transformations by name; one that exceeds its budget is undone.

A budget counts applications and nodes, never time, because builds may not depend on the load of the
machine.
"""

from __future__ import annotations

import copy
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Final

import attrs

from ....runtime.process.errors import OptionError
from ..errors import CodegenError
from .one_state import one_state
from .pass_list import SdfgPass, name_of
from .time_limit import PassTimeLimitError, time_limit

# Passes of DaCe's 'simplify' that do not run. States must not fuse, because their order protects
# values from being overwritten, also where two arguments of a call share memory, which an SDFG
# cannot express. `LiftTrivialIf` takes minutes on large graphs. `ScalarToSymbolPromotion` reads
# the C++ of tasklets as Python, to which 'true' is a symbol that nobody defines.
LEFT_OUT: Final = ("FuseStates", "LiftTrivialIf", "ScalarToSymbolPromotion")

FUSED: Final = 2  # maps in a state, at least
DEAD: Final = "DeadDataflowElimination"

Watch = Callable[[str, Any], None]


class TransformationWarning(UserWarning):
    """A transformation was undone because it exceeded its budget."""


class InvalidGraphError(CodegenError):
    """A transformation of the user left an SDFG that is not valid."""


@attrs.frozen
class Settings:
    """The options of passes: dimensions to block by loop index, sizes, factors, budgets.

    `gt4py_hooks` are names of functions that expect SDFGs of gt4py; `seconds` limits functions.
    """

    block_loops: tuple[str, ...] = ()
    block_size: int = 10
    unroll: int = 0
    most_applications: int = 1000
    most_nodes: int = 100_000
    gt4py_hooks: tuple[str, ...] = ()
    seconds: float = 0


def run_passes(sdfg: Any, passes: Sequence[SdfgPass], settings: Settings, watch: Watch) -> Any:
    """Return the SDFG after all passes; it is a valid one after each.

    Warns:
        TransformationWarning: if a pass exceeds its budget; the SDFG is that before the pass.

    """
    watch("graph", sdfg)
    for step in passes:
        if _is_idle(step, sdfg, settings):  # it needs no copy to return to
            watch(name_of(step), sdfg)
            continue
        before = copy.deepcopy(sdfg)
        try:
            if name_of(step) in settings.gt4py_hooks:
                sdfg, count = _hooked(step, sdfg, settings)
            else:
                count = _applied(step, sdfg, settings)
        except NotImplementedError:
            if step != "simplify":
                raise
            # DaCe cannot remove the results of some tasklets that nothing reads: they stay
            sdfg = copy.deepcopy(before)
            count = simplify(sdfg, settings, DEAD)
        nodes = sum(1 for _ in sdfg.all_nodes_recursive())
        if count > settings.most_applications or nodes > settings.most_nodes:
            _warn(name_of(step), count, nodes, settings)
            sdfg = before
        watch(name_of(step), sdfg)
    _validate(sdfg, "the passes")
    return sdfg


def _is_idle(step: SdfgPass, sdfg: Any, settings: Settings) -> bool:
    """Tell whether a pass of ours has nothing to change."""
    match step:
        case "fuse_vertical" | "fuse_horizontal":
            return all(_maps(state) < FUSED for state in _states(sdfg))
        case "block":
            return not (settings.block_loops and settings.block_size)
        case "unroll_scans":
            return not settings.unroll
    return False


def _applied(step: SdfgPass, sdfg: Any, settings: Settings) -> int:
    """Run a pass; return how often it was applied."""
    if isinstance(step, str):
        return BY_NAME[step](sdfg, settings)
    written = _written_arguments(sdfg)
    with _lists_of_states(sdfg), time_limit(name_of(step), settings.seconds):
        result = step(sdfg)
    if result is not None and not isinstance(result, int | dict):
        raise OptionError(
            f"Pass '{name_of(step)}' returned a '{type(result).__name__}'; it changes the SDFG "
            "that it is given, and returns nothing."
        )
    _validate(sdfg, f"pass '{name_of(step)}'")
    if more := sorted(_written_arguments(sdfg) - written):
        raise InvalidGraphError(
            f"After pass '{name_of(step)}' the SDFG writes '{more[0]}', which the program only "
            "reads: a call would copy it where arguments share memory, and lose the result."
        )
    return 1


def _hooked(step: Any, sdfg: Any, settings: Settings) -> tuple[Any, int]:
    """Return the SDFG after a hook made for gt4py, which has one state or else as many as ours.

    A hook that fails on both leaves it as it is, with a warning.
    """
    errors: list[Exception] = []
    for view in (one_state, nullcontext):
        changed, has_joined = copy.deepcopy(sdfg), None
        try:
            with view(changed) as has_joined:
                _applied(step, changed, settings)
            return changed, 1
        except PassTimeLimitError:
            raise
        except Exception as error:  # a function of the user may raise anything
            errors.append(error)
        if not has_joined:
            break
    _warn_of_shape(name_of(step), errors[0])
    return sdfg, 0


def _written_arguments(sdfg: Any) -> set[str]:
    return {
        node.data
        for state in sdfg.states()
        for node in state.data_nodes()
        if state.in_degree(node) and not sdfg.arrays[node.data].transient
    }


def _warn(name: str, count: int, nodes: int, settings: Settings) -> None:
    limits = f"{settings.most_applications} applications and {settings.most_nodes} nodes"
    warnings.warn(
        f"DaCe's transformation '{name}' was undone: {count} applications and {nodes} nodes, "
        f"more than the limits of {limits} (options 'most_applications' and 'most_nodes').",
        TransformationWarning,
        stacklevel=2,
    )


def _warn_of_shape(name: str, error: Exception) -> None:
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}{f': {error}' if str(error) else ''}"
    warnings.warn(
        f"Hook '{name}' is left out: it expects an SDFG of another shape, as gt4py makes them "
        f"({said}; line {last.lineno} of '{last.name}').",
        TransformationWarning,
        stacklevel=2,
    )


@contextmanager
def _lists_of_states(sdfg: Any) -> Iterator[None]:
    """Let `sdfg.states()` return a list, as before DaCe 2, which has a generator in its place."""
    every = list(sdfg.all_sdfgs_recursive())
    for each in every:
        object.__setattr__(each, "states", partial(_listed_states, type(each), each))
    try:
        yield
    finally:
        for each in every:
            object.__delattr__(each, "states")


def _listed_states(kind: Any, sdfg: Any) -> list[Any]:
    return list(kind.states(sdfg))


def _validate(sdfg: Any, who: str) -> None:
    from dace.sdfg.validation import InvalidSDFGError

    # Indices are those of domains, which may begin below 0 where they are known.
    for state in _states(sdfg):
        for edge in state.edges():
            edge.data.allow_oob = True
    try:
        with _saving_nothing(sdfg):
            sdfg.validate()
    except InvalidSDFGError as error:
        raise InvalidGraphError(f"After {who} the SDFG is not valid: {_said(error)}") from error


def _said(error: Any) -> str:
    """Return what DaCe says; it looks for edges inside blocks in the wrong place."""
    try:
        return str(error)
    except IndexError:
        return str(error.message)


@contextmanager
def _saving_nothing(sdfg: Any) -> Iterator[None]:
    """Keep DaCe from writing an SDFG that is not valid to the current folder."""
    object.__setattr__(sdfg, "save", lambda *_, **__: None)
    try:
        yield
    finally:
        object.__delattr__(sdfg, "save")


# --- the passes ---------------------------------------------------------------------------------


def simplify(sdfg: Any, _: Settings, *more_left_out: str) -> int:
    """Inline needless nesting, remove unused data, propagate constants."""
    from dace.transformation.pass_pipeline import Pipeline
    from dace.transformation.passes import simplify as simplification

    left_out = (*LEFT_OUT, *more_left_out)
    passes = [kind() for kind in simplification.SIMPLIFY_PASSES if kind.__name__ not in left_out]
    Pipeline(passes).apply_pass(sdfg, {})
    return 1


def fuse_vertical(sdfg: Any, settings: Settings) -> int:
    """Join a map with one that reads its results point by point, so that they stay in registers."""
    from dace.transformation.dataflow import MapFusionVertical

    return _everywhere(sdfg, MapFusionVertical, settings)


def fuse_horizontal(sdfg: Any, settings: Settings) -> int:
    """Join maps over the same range that do not depend on each other."""
    from dace.transformation.dataflow import MapFusionHorizontal

    return _everywhere(sdfg, MapFusionHorizontal, settings)


def fuse_tasklets(sdfg: Any, settings: Settings) -> int:
    """Join tasklets that hand on a number."""
    from dace.transformation.dataflow import TaskletFusion

    return _everywhere(sdfg, TaskletFusion, settings)


def block(sdfg: Any, settings: Settings) -> int:
    """Cut the loops over the dimensions of option 'blocking_dims' into blocks; these go outside."""
    from dace.sdfg import nodes
    from dace.transformation.dataflow import StripMining

    count = 0
    wanted = frozenset(settings.block_loops)
    for state in list(_states(sdfg)):
        for entry in [each for each in state.nodes() if isinstance(each, nodes.MapEntry)]:
            around = entry
            for param in [each for each in entry.map.params if each in wanted]:
                options = {
                    "dim_idx": around.map.params.index(param),
                    "new_dim_prefix": "block",
                    "tile_size": str(settings.block_size),
                }
                StripMining.apply_to(state.sdfg, options=options, map_entry=around, verify=False)
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
    within = ranges[param]
    (first,) = outer.map.range.ranges
    (name,) = outer.map.params
    outer.map.range = Range([first if each == param else ranges[each] for each in ranges])
    outer.map.params = [name if each == param else each for each in ranges]
    outer.map.gpu_block_size = inner.map.gpu_block_size
    outer.map.gpu_launch_bounds = inner.map.gpu_launch_bounds
    outer.map.gpu_maxnreg = inner.map.gpu_maxnreg
    inner.map.params, inner.map.range = [param], Range([within])
    outer.map.schedule, inner.map.schedule = ScheduleType.GPU_Device, ScheduleType.Sequential
    return outer


def unroll_scans(sdfg: Any, settings: Settings) -> int:
    """Ask the compiler to unroll the loops over levels of scans."""
    from dace.sdfg.state import LoopRegion

    loops = [each for each in sdfg.all_control_flow_regions(recursive=True)
             if isinstance(each, LoopRegion)]  # fmt: skip
    for loop in loops:
        loop.unroll, loop.unroll_factor = True, settings.unroll
    return len(loops)


def _states(sdfg: Any) -> list[Any]:
    return [state for each in sdfg.all_sdfgs_recursive() for state in each.states()]


def _maps(state: Any) -> int:
    from dace.sdfg import nodes

    return sum(isinstance(node, nodes.MapEntry) for node in state.nodes())


def _everywhere(sdfg: Any, kind: Any, settings: Settings) -> int:
    """Apply a transformation until it finds no match, or the budget is spent."""
    count = 0
    while count <= settings.most_applications:
        applied = sdfg.apply_transformations_once_everywhere(
            kind, validate=False, validate_all=False, print_report=False
        )
        if not applied:
            break
        count += applied
    return count


BY_NAME: Final[Mapping[str, Callable[[Any, Settings], int]]] = {
    step.__name__: step
    for step in (simplify, fuse_vertical, fuse_horizontal, fuse_tasklets, block, unroll_scans)
}
