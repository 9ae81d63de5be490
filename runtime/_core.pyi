"""The native call path: fields, entries, programs, libraries (see `native/`)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self, SupportsIndex, final

from .dimension import Dimension
from .plan import Plan

class FieldView:
    """Memory with a domain: what calls take without looking at Python.

    Immutable; holds the buffer of `array` as long as it lives. Whether the memory is
    writable is decided when the view is made. `__new__` takes anything, `__init__` does the work.
    """

    def __init__(
        self, array: Any, dims: Sequence[Dimension], starts: Sequence[SupportsIndex]
    ) -> None:
        """Take a NumPy array, or anything with the buffer protocol, and a start for each axis."""

    @classmethod
    def from_parts(
        cls,
        pointer: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: str,
        device_type: int,
        device_id: int,
        owner: object,
        dims: Sequence[Dimension],
        starts: Sequence[SupportsIndex],
        readonly: bool = False,
    ) -> Self:
        """Take memory that offers no buffer, with strides in bytes; `__init__` is not called."""

    @property
    def ndarray(self) -> Any: ...
    @property
    def dims(self) -> tuple[Dimension, ...]: ...
    @property
    def starts(self) -> tuple[int, ...]: ...
    @property
    def stops(self) -> tuple[int, ...]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype_name(self) -> str: ...
    @property
    def pointer(self) -> int: ...
    @property
    def device_type(self) -> int: ...
    @property
    def device_id(self) -> int: ...
    @property
    def readonly(self) -> bool: ...

@final
class Entry:
    """One compiled variant: a plan as C++ structs and the address of its C entry point.

    A plan that is not well-formed is a `ValueError`.
    """

    def __new__(cls, plan: Plan, address: int, keepalive: object = None) -> Self: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def address(self) -> int: ...
    @property
    def keepalive(self) -> object: ...

class Program:
    """The variants of one program behind one fast call; may be subclassed.

    `on_miss(args, kwargs)` is called when no entry fits the layout of the arguments, and
    must `add` one. `on_reject(plan, arguments, reason, detail)` must raise: see
    `compiled.reject`. A subclass that defines `__call__` loses the fast call. Arguments of the
    class go to `__new__`.
    """

    def __new__(
        cls,
        name: str,
        parameters: Sequence[str],
        on_miss: Callable[[tuple[Any, ...], dict[str, Any]], object],
        on_reject: Callable[[Plan | None, tuple[Any, ...], int, tuple[Any, ...]], object],
    ) -> Self: ...
    def __call__(
        self,
        *args: Any,
        offset_provider: Mapping[str, Any] | None = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> None: ...
    def add(self, entry: Entry, /) -> None:
        """Add a variant; those that ask for more unit strides are tried first."""

    def forget(self) -> None:
        """Drop all variants, and what is watched."""

    def watch(
        self,
        triples: Iterable[tuple[object, str | None, object]],
        on_change: Callable[[], object],
        /,
    ) -> None:
        """Call `on_change()` before a call if a name holds another object than it did.

        The triples are (namespace, name, object) and (cell, None, object).
        """

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...
    @property
    def entries(self) -> tuple[Entry, ...]: ...

@final
class Library:
    """A shared library, loaded until the last reference to this object goes away."""

    def __init__(self, path: str) -> None:
        """Load it, or raise `RuntimeError` with the words of the loader."""

    def symbol(self, name: str) -> int | None:
        """Return the address of a symbol, None if there is none."""

    @property
    def path(self) -> str: ...
