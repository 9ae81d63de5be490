"""Hooks: run the user's callbacks around calls and before builds.

EventHook    its callbacks are called one after the other
ContextHook  its callbacks give context managers, which are entered in order and left in reverse

The four places are at the end of this file. A hook without callbacks is false, so that a place
costs one test while nobody uses it. Callbacks may be registered in one thread while others call:
a call works with the callbacks that were there when it began, and keeps nothing on the hook.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final, NamedTuple

from .errors import nearest

Listener = Callable[[], None]
_listeners: Final[list[Listener]] = []


def on_change(listener: Listener) -> None:
    """Call `listener` whenever a callback is registered or removed."""
    _listeners.append(listener)


class _Callback(NamedTuple):
    name: str
    function: Callable[..., Any]


class _Hook:
    """The callbacks of one hook; they have the parameters of the function that declares it."""

    def __init__(self, declaration: Callable[..., Any]) -> None:
        self.__name__ = declaration.__name__
        self.__doc__ = declaration.__doc__
        self.__wrapped__ = declaration
        self._parameters = _parameters(declaration)
        self._callbacks: list[_Callback] = []

    def register(
        self, callback: Callable[..., Any], *, name: str | None = None, index: int | None = None
    ) -> None:
        """Add a callback at the end or before place `index`, under its own name or another one.

        It must have the parameters of the hook, or take any; else it is a `ValueError`.
        """
        own = _parameters(callback)
        if own is not None and own != self._parameters:
            raise ValueError(
                f"The parameters of a callback of '{self.__name__}' must be "
                f"({', '.join(self._parameters or ())}), got ({', '.join(own)})."
            )
        if name is None:
            name = _numbered(_name_of(callback), self.names)
        if name in self.names:
            raise ValueError(f"A callback named '{name}' is registered for '{self.__name__}'.")
        place = len(self._callbacks) if index is None else index
        self._callbacks.insert(place, _Callback(name, callback))
        _changed()

    def remove(self, callback: str | Callable[..., Any]) -> None:
        """Remove a callback, given itself or its name; raise `KeyError` if it is not registered."""
        for entry in tuple(self._callbacks):
            if callback in (entry.name, entry.function):
                self._callbacks.remove(entry)
                _changed()
                return
        name = callback if isinstance(callback, str) else _name_of(callback)
        close = nearest(name, self.names)
        hint = f" Did you mean '{close}'?" if close and close != name else ""
        raise KeyError(f"No callback '{name}' is registered for '{self.__name__}'.{hint}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the callbacks in the order of their calls."""
        return tuple(entry.name for entry in tuple(self._callbacks))

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__name__}: {', '.join(self.names) or 'unused'}>"


class EventHook(_Hook):
    """A hook that reports an event; a decorator declares it.

    >>> @EventHook
    ... def built(name: str) -> None:
    ...     '''Tell that a program was built.'''
    >>> built.register(lambda name: print("got", name), name="print")
    >>> built("smooth")
    got smooth
    """

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call every callback with these arguments."""
        for entry in tuple(self._callbacks):
            entry.function(*args, **kwargs)


class ContextHook(_Hook):
    """A hook around a block: callbacks return context managers. A decorator declares it."""

    def __call__(self, *args: Any, **kwargs: Any) -> AbstractContextManager[None]:
        """Return a fresh context manager that enters those of all callbacks."""
        return _entered(tuple(self._callbacks), args, kwargs)


@contextmanager
def _entered(
    callbacks: tuple[_Callback, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[None]:
    with ExitStack() as stack:
        for entry in callbacks:
            stack.enter_context(entry.function(*args, **kwargs))
        yield


def _parameters(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the names of the parameters as calls use them; None if any are accepted."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return None
    kinds = {parameter.kind for parameter in found}
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds:
        return None
    return tuple(str(parameter).partition(":")[0].partition("=")[0] for parameter in found)


def _name_of(callback: Callable[..., Any]) -> str:
    module = getattr(callback, "__module__", None) or type(callback).__module__
    return f"{module}.{getattr(callback, '__qualname__', type(callback).__qualname__)}"


def _numbered(name: str, taken: tuple[str, ...]) -> str:
    """Return the name, with a number behind it where that is needed; lambdas share their names."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name} {number}"
    return found


def _changed() -> None:
    for listener in tuple(_listeners):
        listener()


# --- the places -------------------------------------------------------------------------------


@ContextHook
def program_call_context(
    program: Any,
    args: tuple[Any, ...],
    offset_provider: Mapping[str, Any],
    enable_jit: bool,
    kwargs: Mapping[str, Any],
) -> Any:
    """Go around every call of a program from Python, compiled or embedded.

    Omitted arguments are filled in: an empty provider, and whether the call may compile.
    """


@ContextHook
def embedded_program_call_context(
    program: Any,
    args: tuple[Any, ...],
    offset_provider: Mapping[str, Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Go around the embedded execution of a program."""


@ContextHook
def compiled_program_call_context(
    program_pool: Any,
    key: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    offset_provider: Mapping[str, Any],
) -> Any:
    """Go around the compiled code of one variant: `program_pool.compiled_programs[key]`."""


@EventHook
def compile_variant_hook(
    program_pool: Any,
    key: Any,
    backend: Any,
    argument_descriptors: Any,
    offset_provider: Mapping[str, Any],
) -> None:
    """Tell that variant `key` is about to be built; the descriptors are its static arguments."""


CALL_HOOKS: Final = (
    program_call_context,
    embedded_program_call_context,
    compiled_program_call_context,
)
