"""Run DaCe's transformations in order; one that exceeds its budget is undone.

A budget counts applications and nodes, never time, because builds may not depend on the load of the
machine.

Interrupt a function of the user's that runs too long; the error names it.
"""

from __future__ import annotations

import copy
import ctypes
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, Final

from ....runtime.process import CodegenError, OptionError
from ..pass_list import name_of
from .one_state import one_state
from .options import DaceOptions, SdfgPass
from .transformations import BY_NAME, maps_in, simplify, states_of

FUSED: Final = 2  # maps in a state, at least
DEAD: Final = "DeadDataflowElimination"

Watch = Callable[[str, Any], None]


class TransformationWarning(UserWarning):
    """A transformation was undone because it exceeded its budget."""


class InvalidGraphError(CodegenError):
    """A transformation of the user left an SDFG that is not valid."""


def run_passes(sdfg: Any, options: DaceOptions, watch: Watch) -> Any:
    """Return the SDFG after all passes; it is a valid one after each.

    In `options`, 'blocking_dims' are the names of the loops over these dimensions.

    Warns:
        TransformationWarning: if a pass exceeds its budget; the SDFG is that before the pass.

    """
    watch("graph", sdfg)
    for step in options.passes if options.auto_optimize else ():
        if _is_idle(step, sdfg, options):  # it needs no copy to return to
            watch(name_of(step), sdfg)
            continue
        before = copy.deepcopy(sdfg)
        try:
            if name_of(step) in options.gt4py_hooks:
                sdfg, count = _hooked(step, sdfg, options)
            else:
                count = _applied(step, sdfg, options)
        except NotImplementedError:
            if step != "simplify":
                raise
            # DaCe cannot remove the results of some tasklets that nothing reads: they stay
            sdfg = copy.deepcopy(before)
            count = simplify(sdfg, options, DEAD)
        nodes = sum(1 for _ in sdfg.all_nodes_recursive())
        if count > options.most_applications or nodes > options.most_nodes:
            _warn(name_of(step), count, nodes, options)
            sdfg = before
        watch(name_of(step), sdfg)
    _validate(sdfg, "the passes")
    return sdfg


def _is_idle(step: SdfgPass, sdfg: Any, options: DaceOptions) -> bool:
    """Tell whether a pass of ours has nothing to change."""
    match step:
        case "fuse_vertical" | "fuse_horizontal":
            return all(maps_in(state) < FUSED for state in states_of(sdfg))
        case "block":
            return not options.blocking_dims
        case "unroll_scans":
            return not options.unroll_scans
    return False


def _applied(step: SdfgPass, sdfg: Any, options: DaceOptions) -> int:
    """Run a pass; return how often it was applied."""
    if isinstance(step, str):
        return BY_NAME[step](sdfg, options)
    written = _written_arguments(sdfg)
    # before DaCe 2, `sdfg.states()` returned a list
    listed = _with_method(
        "states", lambda own: list(type(own).states(own)), list(sdfg.all_sdfgs_recursive())
    )
    with listed, time_limit(name_of(step), options.pass_seconds):
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


def _hooked(step: Any, sdfg: Any, options: DaceOptions) -> tuple[Any, int]:
    """Return the SDFG after a hook made for gt4py, which has one state or else as many as ours.

    A hook that fails on both leaves it as it is, with a warning.
    """
    errors: list[Exception] = []
    for view in (one_state, nullcontext):
        changed, has_joined = copy.deepcopy(sdfg), None
        try:
            with view(changed) as has_joined:
                _applied(step, changed, options)
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


def _warn(name: str, count: int, nodes: int, options: DaceOptions) -> None:
    limits = f"{options.most_applications} applications and {options.most_nodes} nodes"
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
def _with_method(name: str, replaced: Callable[..., Any], sdfgs: Sequence[Any]) -> Iterator[None]:
    """Let objects have another method for a while, which has the object as its first argument."""
    for each in sdfgs:
        object.__setattr__(each, name, partial(replaced, each))
    try:
        yield
    finally:
        for each in sdfgs:
            object.__delattr__(each, name)


def _validate(sdfg: Any, who: str) -> None:
    from dace.sdfg.validation import InvalidSDFGError

    # Indices are those of domains, which may begin below 0 where they are known.
    for state in states_of(sdfg):
        for edge in state.edges():
            edge.data.allow_oob = True
    try:
        # DaCe would write an SDFG that is not valid to the current folder
        with _with_method("save", lambda *_, **__: None, [sdfg]):
            sdfg.validate()
    except InvalidSDFGError as error:
        raise InvalidGraphError(f"After {who} the SDFG is not valid: {_said(error)}") from error


def _said(error: Any) -> str:
    """Return what DaCe says; it looks for edges inside blocks in the wrong place."""
    try:
        return str(error)
    except IndexError:
        return str(error.message)


class PassTimeLimitError(CodegenError):
    """A transformation of the user took longer than option 'pass_seconds' allows."""


@contextmanager
def time_limit(name: str, seconds: float) -> Iterator[None]:
    """Interrupt a function of the user in this thread after some seconds; 0 is no limit.

    Raises:
        PassTimeLimitError: in the place where the function is, or after it.

    """
    if not seconds:
        yield
        return
    thread, has_ended, is_late = threading.get_ident(), threading.Lock(), threading.Event()

    def interrupt() -> None:
        with has_ended:
            if not is_over:
                is_late.set()
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(_LateError)
                )

    is_over: list[bool] = []
    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    with suppress(_LateError):
        try:
            yield
        finally:
            with has_ended:
                is_over.append(True)
            timer.cancel()
            for _ in range(_DELIVERED if is_late.is_set() else 0):
                pass  # an interrupt that is on its way arrives between two instructions
    if is_late.is_set():
        raise PassTimeLimitError(
            f"Pass '{name}' took longer than {seconds:g} s.",
            hints=["Give it more by option 'pass_seconds', or leave the pass out."],
        )


class _LateError(BaseException):
    """Ends a function of the user; no `except Exception` of its own may stop it."""


_DELIVERED: Final = 10_000
