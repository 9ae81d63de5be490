"""gt4py's options of its DaCe backend: their counterparts, or why there is none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ....runtime.language.dimension import Dimension
from ....runtime.process import OptionError
from ....stages.codegen.dace.options import DACE_PASSES, SdfgPass
from ....stages.codegen.pass_list import name_of
from .hooks import GT4PyAutoOptHook

UNROLLED: Final = 4  # the usual choice of compilers, to which gt4py leaves it

# Options that fieldforge fulfils in any case: the value without effect, and the reason.
_KEPT: Final = "memory of temporaries is kept from call to call"
_GIVEN: Final[dict[str, tuple[Any, str]]] = {
    "cached": (True, "results are always cached"),
    "make_persistent": (False, _KEPT),
    "external_workspace": (
        None,
        "temporaries lie in memory of the caller by 'program.with_workspace(buffer)'",
    ),
    "unstructured_horizontal_has_unit_stride": (
        False,
        "unit strides are found when a program is called, and compiled in",
    ),
    "use_max_domain_range_on_unstructured_shift": (
        None,
        "every value is computed where tables say that it is needed, and nowhere else",
    ),
    "use_metrics": (True, "metrics are taken while 'fieldforge.metrics' asks for them"),
    "use_zero_origin": (
        False,
        "origins are part of the pointers that a program is given, and cost nothing",
    ),
}
_ON_CPU: Final[dict[str, tuple[Any, str]]] = {
    "async_sdfg_call": (True, "a program on a CPU has ended when its call returns")
}
_GPU_ONLY: Final = "it has an effect on GPUs only"
_GIVEN_TO_OPTIMISER: Final[dict[str, tuple[Any, str]]] = {
    "assume_pointwise": (True, "which arguments may share memory is checked at each call"),
    "blocking_independent_node_threshold": (None, "what no level changes stands outside already"),
    "blocking_only_if_independent_nodes": (True, "what no level changes stands outside already"),
    "demote_fields": (None, "a value that is no output of a program is no field of it"),
    "disable_splitting": (False, "no pass splits maps"),
    "make_persistent": (False, _KEPT),
    "promote_independent_memlets_for_blocking": (
        False,
        "what no level changes stands outside already",
    ),
    "reuse_transients": (False, "arrays share memory when their lives do not overlap"),
    "transient_memory_mode": (None, _KEPT),
    "validate": (True, "SDFGs are validated after the passes, and after each hook"),
    "validate_all": (False, "SDFGs are validated after the passes, and after each hook"),
    "gpu_memory_pool": (None, "temporaries come from a pool in the order of the stream"),
}
_RESERVED: Final = ("constant_symbols", "gpu", "unit_strides_kind")
_TRANSLATED: Final = (
    "blocking_dims",
    "blocking_size",
    "fuse_tasklets",
    "optimization_hooks",
    "scan_loop_unrolling",
    "scan_loop_unrolling_factor",
)
# Of optimisation arguments that only GPUs have: our options.
_OF_GPUS: Final = {
    "gpu_block_size_1d": "block_1d",
    "gpu_block_size_2d": "block_2d",
    "gpu_block_size_3d": "block_3d",
    "gpu_launch_bounds": "launch_bounds",
    "gpu_launch_factor": "launch_factor",
    "gpu_maxnreg": "most_registers",
}
_GPU_ARGUMENTS: Final = ("gpu_block_size", *_OF_GPUS)
_CALLBACK: Final = "write a pass of your own, and name it in the option 'passes'"


def translated(options: Mapping[str, Any], factory: str, *, gpu: bool = False) -> dict[str, Any]:
    """Return our options for gt4py's and ours; one warning names those that are not needed here.

    Those of GPUs have an effect on a backend for a `gpu`.

    Raises:
        OptionError: for an optimisation argument that gt4py does not have, or sets itself.

    """
    given = _GIVEN if gpu else _GIVEN | _ON_CPU
    ours = {name: value for name, value in options.items() if name not in given}
    arguments = dict(ours.pop("optimization_args", None) or {})
    of_gpus = {} if gpu else dict.fromkeys(_GPU_ARGUMENTS, (None, _GPU_ONLY))
    reasons = list(_reasons(options, given))
    reasons += _reasons(arguments, _GIVEN_TO_OPTIMISER | of_gpus)
    for name in arguments:
        if name in _RESERVED:
            raise OptionError(f"Optimization argument '{name}' is set by the backend itself.")
        known = [*_TRANSLATED, *_GIVEN_TO_OPTIMISER, *_GPU_ARGUMENTS]
        if name not in known:
            raise OptionError(
                f"There is no optimization argument '{name}'.", name=name, known=known
            )
    if arguments and ours.get("auto_optimize") is False:
        reasons.append("'optimization_args': 'auto_optimize' is off")
    ours |= _tuned(arguments)
    if gpu:
        ours |= _threads(arguments)
        if "async_sdfg_call" in ours:
            ours["asynchronous"] = bool(ours.pop("async_sdfg_call"))
    passes, left = _with_hooks(arguments, ours.get("passes", DACE_PASSES), gpu)
    if tuple(passes) != tuple(ours.get("passes", DACE_PASSES)):
        ours["passes"] = passes
        hooks = list(_hooks_of(arguments).values())
        ours["gt4py_hooks"] = tuple(name_of(each) for each in passes if each in hooks)
    reasons += [f"'{hook}': {_CALLBACK}" for hook in left]
    if reasons:
        warnings.warn(
            f"Options of '{factory}' that change nothing here: {'; '.join(reasons)}.",
            stacklevel=3,
        )
    return ours


def _reasons(options: Mapping[str, Any], known: Mapping[str, tuple[Any, str]]) -> Iterator[str]:
    """Return, for each option with an effect in gt4py, why it is not needed."""
    for name in sorted(options.keys() & known.keys()):
        usual, why = known[name]
        if options[name] != usual and not (usual is None and not options[name]):
            yield f"'{name}': {why}"


def _tuned(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return our options for optimisation arguments."""
    ours: dict[str, Any] = {}
    if dims := arguments.get("blocking_dims"):
        ours["blocking_dims"] = tuple(d.value if isinstance(d, Dimension) else d for d in dims)
    if "blocking_size" in arguments:
        ours["blocking_size"] = arguments["blocking_size"]
    if arguments.get("scan_loop_unrolling"):
        ours["unroll_scans"] = arguments.get("scan_loop_unrolling_factor") or UNROLLED
    return ours


def _threads(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return our options for what arguments say about the threads of a GPU."""
    every = arguments.get("gpu_block_size")
    found = {"gpu_block_size_2d": every, "gpu_block_size_3d": every}
    found |= {name: arguments[name] for name in _OF_GPUS if arguments.get(name) is not None}
    return {
        _OF_GPUS[name]: _sizes(value) if "block_size" in name else value
        for name, value in found.items()
        if value is not None
    }


def _sizes(given: Any) -> dict[str, int]:
    """Return the threads of a block by axis, written as numbers or as in '32, 8, 1'."""
    numbers = given.split(",") if isinstance(given, str) else given
    return {f"{'xyz'[at : at + 1] or at}": int(each) for at, each in enumerate(numbers)}


def _hooks_of(arguments: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    given = dict(arguments.get("optimization_hooks") or {})
    return {GT4PyAutoOptHook(place).value: hook for place, hook in given.items()}


def _with_hooks(
    arguments: Mapping[str, Any], passes: tuple[SdfgPass, ...], gpu: bool
) -> tuple[tuple[SdfgPass, ...], list[str]]:
    """Return the list of passes with hooks in their places, and the hooks without a place."""
    hooks = _hooks_of(arguments)
    found = list(passes)
    middle = found.index("fuse_vertical") + 1 if "fuse_vertical" in found else len(found)
    inner: list[SdfgPass] = ["fuse_tasklets"] if arguments.get("fuse_tasklets") else []
    inner += [hooks.pop("TopLevelDataFlowStep")] if "TopLevelDataFlowStep" in hooks else []
    last = [hooks.pop("TopLevelDataFlowPost")] if "TopLevelDataFlowPost" in hooks else []
    last += [hooks.pop("AfterToGPU")] if gpu and "AfterToGPU" in hooks else []
    first = found.index("simplify") + 1 if "simplify" in found else 0
    before = [hooks.pop("TopLevelDataFlowPre")] if "TopLevelDataFlowPre" in hooks else []
    ordered = [*found[:first], *before, *found[first:middle], *inner, *found[middle:], *last]
    return tuple(ordered), list(hooks)
