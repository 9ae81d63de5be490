"""Instrument calls: run hooks around them and collect metrics.

Entry points take the normal call path while `active()` is false. Otherwise they call through
`program_call` and, inside it, `embedded_call` or `compiled_call`. The native call path
cannot ask on each call, so it subscribes to changes of `active()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from .. import _core
from ..process import hooks, metrics, settings
from ..process.collectors import BaseMetricsCollector, make_collector

_total = make_collector(metrics.MINIMAL, "total")
_compute = make_collector(metrics.PERFORMANCE, "compute")
# Native entries are timed inside the core: generated code alone, without the checks of the call.
_inside = make_collector(metrics.PERFORMANCE, "compute", collect_enter_counter=_core.kernel_seconds)

_active: list[bool] = []
_listeners: Final[list[Callable[[bool], None]]] = []


def active() -> bool:
    """Return True while a hook around calls is registered or metrics are collected."""
    if not _active:
        _changed()
    return _active[0]


def subscribe(listener: Callable[[bool], None]) -> None:
    """Call `listener` with the new value of `active()` whenever it changes."""
    _listeners.append(listener)


@contextmanager
def program_call(
    program: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    offset_provider: Mapping[str, Any] | None,
    enable_jit: bool | None = None,
) -> Iterator[None]:
    """Wrap one whole call from Python in hooks and metrics."""
    token = metrics.begin_call()
    try:
        provider, may_compile = offset_provider or {}, _may_compile(program, enable_jit)
        around = hooks.program_call_context(program, args, provider, may_compile, kwargs)
        with around, _timed(_total):
            yield
    finally:
        metrics.end_call(token)


@contextmanager
def embedded_call(
    program: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    offset_provider: Mapping[str, Any] | None,
) -> Iterator[None]:
    """Wrap the embedded execution of a call in hooks and metrics."""
    if metrics.is_any_level_enabled():
        metrics.set_current_source_key(f"{program.__name__}<'embedded'>")
    with hooks.embedded_program_call_context(program, args, offset_provider or {}, kwargs):
        yield


@contextmanager
def compiled_call(
    compiled: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    offset_provider: Mapping[str, Any] | None,
    root: tuple[str, str],
    variant: Any,
    pool: int = 0,
    programs: Any = None,
) -> Iterator[None]:
    """Wrap the compiled code of one variant; `root` is the program's name and the backend's name.

    `pool` tells programs of one name apart; `programs` is what hooks see of them. In metrics the
    first tier has a key of its own.
    """
    if metrics.is_any_level_enabled():
        key, is_entry = source_key(root, variant, pool), isinstance(compiled, _core.Entry)
        is_first = is_entry and compiled.first_tier is not None
        source = metrics.set_current_source_key(f"{key} rows" if is_first else key)
        if is_entry:
            source.metadata.setdefault("tier", "rows" if is_first else "compiled")
        source.metadata.setdefault("name", root[0])
        source.metadata.setdefault("backend", root[1])
        source.metadata.setdefault("variant", getattr(variant, "text", str(variant)))
    provider = offset_provider or {}
    around = hooks.compiled_program_call_context(programs, variant, args, kwargs, provider)
    ordered = _ordered(compiled, args, kwargs, provider)
    with around, ordered, _timed(_inside if isinstance(compiled, _core.Entry) else _compute):
        yield


def source_key(root: tuple[str, str], variant: Any, pool: int = 0) -> str:
    """Return the key of a variant in `metrics.sources`.

    >>> source_key(("smooth", "cpu"), "unit stride of u: I", 2)
    "smooth<'cpu', 2>[46450a35]"
    """
    import zlib

    text = getattr(variant, "text", None)
    digest = zlib.crc32((str(variant) if text is None else text).encode())
    return f"{root[0]}<'{root[1]}', {pool}>[{digest:08x}]"


def _may_compile(program: Any, enable_jit: bool | None) -> bool:
    """Return whether a call may compile: its own option wins, then the program's, the settings'."""
    own = getattr(getattr(program, "compilation_options", None), "enable_jit", None)
    allowed = settings.current().enable_jit
    return next((each for each in (enable_jit, own, allowed) if each is not None), True)


def _timed(make: Callable[[], BaseMetricsCollector]) -> Any:
    """Return a metrics collector if the source of its sample will be known, else a null context."""
    return make() if metrics.is_any_level_enabled() else nullcontext()


def _ordered(
    compiled: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], provider: Mapping[str, Any]
) -> Any:
    """Return what looks for a missing order on a GPU, else a null context."""
    if not settings.current().gpu_debug or not getattr(compiled, "plan", None):
        return nullcontext()
    if not compiled.plan.launches:
        return nullcontext()
    from .gpu_order import watched

    return watched(compiled.plan, args, kwargs, provider)


def _is_watched() -> bool:
    if settings.current().gpu_debug:
        return True
    return metrics.is_any_level_enabled() or any(hooks.CALL_HOOKS)


def _changed() -> None:
    _core.set_timed(metrics.is_level_enabled(metrics.PERFORMANCE))
    before = _active[0] if _active else False
    _active[:] = [_is_watched()]
    if _active[0] is not before:
        for listener in tuple(_listeners):
            listener(_active[0])


hooks.on_change(_changed)
settings.on_change(_changed)
