"""The native call path: fields, entries, programs, libraries (see `native/`)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self, SupportsIndex, TypeAlias, final

from .calls.plan import Plan
from .language.dimension import Dimension

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

    A plan that is not well-formed is a `ValueError`. Rows with an `ask` stand in for compiled code:
    it is called once their runs have taken `after` seconds, and whenever that time has doubled.
    """

    def __new__(
        cls,
        plan: Plan,
        address: int,
        keepalive: object = None,
        set_threads: int = 0,
        get_threads: int = 0,
        threads: int = 0,
        ask: Callable[[], object] = ...,
        after: float = 0.0,
    ) -> Self: ...
    @property
    def first_tier(self) -> tuple[int, float] | None:
        """Calls and seconds so far of what stands in for compiled code, None of compiled code."""

    @property
    def threads(self) -> int: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def address(self) -> int: ...
    @property
    def keepalive(self) -> object: ...
    @property
    def beyond(self) -> Callable[[], Entry] | None:
        """Returns the entry that makes calls which `plan.is_inside` leaves out; it may build it."""
    @beyond.setter
    def beyond(self, build: Callable[[], Entry]) -> None: ...

class Rows:
    """An encoded program and the kernels that run it, the fastest that this processor has."""

    def __init__(self, encoded: object, kernels: str | None = None) -> None: ...
    @property
    def kernels(self) -> str: ...

class Stencil:
    """The calls of a stencil of GTScript over a program; subclasses have the calls for Python.

    Calls whose arguments are as declared run natively: arrays become fields by their origins, and
    the sizes of the domain follow. All others go to `_call_in_python` and `_run_in_python`, with
    the arguments that were given. A slot is a row `(place, dtype)` for a number, or `(place, dtype,
    dims, axes, lower, upper, inwards)` for a field: its place among the parameters of the program
    or -1, the dimensions and which of I, J, K they are, the points that are read before and beyond
    the domain, and the axes from the smallest recommended stride to the largest, empty for any.
    """

    def __new__(
        cls,
        *,
        program: Program,
        arguments: tuple[str, ...],
        positional: int,
        slots: tuple[tuple[Any, ...], ...],
        defaults: dict[str, Any],
        least_levels: int,
        waits: bool,
    ) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
    def run(self, *args: Any, **kwargs: Any) -> None:
        """Call with `_domain_` and `_origin_` decided, all arguments by name."""

    def accept_layout(self, name: str, /) -> None:
        """Take any layout of a field from now on."""

class Program:
    """The variants of one program behind one fast call; may be subclassed.

    `on_miss(args, kwargs)` is called when no entry fits the layout of the arguments, and
    must `add` one. `on_reject(plan, arguments, reason, detail)` must raise: see
    `on_reject.reject`. `otherwise`, if there is one, makes the calls that do not give every
    parameter, the last of them by name and not as None. A subclass that defines `__call__` loses
    the fast call. Arguments of the class go to `__new__`.
    """

    def __new__(
        cls,
        name: str,
        parameters: Sequence[str],
        on_miss: Callable[[tuple[Any, ...], dict[str, Any]], object],
        on_reject: Callable[[Plan | None, tuple[Any, ...], int, tuple[Any, ...]], object],
        otherwise: Callable[..., object] | None = None,
    ) -> Self: ...
    def __call__(
        self,
        *args: Any,
        offset_provider: Mapping[str, Any] | None = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> None: ...
    def call(
        self,
        *args: Any,
        offset_provider: Mapping[str, Any] | None = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Call natively, whatever a subclass makes of calls; what does not fit is refused."""

    def add(
        self,
        entry: Entry,
        values: Iterable[tuple[int, object, Callable[[object], bool]]] = (),
        /,
    ) -> None:
        """Add a variant; those that ask for more unit strides are tried first.

        It fits calls with certain values only, in rows (parameter, value, same):
        `same(given)` is asked where neither identity nor exact numbers can tell.
        """

    def replace(self, before: Entry, after: Entry, /) -> None:
        """Exchange the entry of a variant; calls in flight keep theirs."""

    def forget(self) -> None:
        """Drop all variants, and what is watched."""

    def route(self, python_call: Callable[..., object] | None, /) -> None:
        """Hand every call to `python_call`; None: call natively."""

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

    def __init__(self, path: str, uses_openmp: bool = True) -> None:
        """Load it, or raise `RuntimeError` with the words of the loader."""

    def symbol(self, name: str) -> int | None:
        """Return the address of a symbol, None if there is none."""

    @property
    def path(self) -> str: ...

class BoundCall:
    """A program with some or all of its arguments fixed; may be subclassed.

    `program` is called natively as long as that is all there is to do, `call` otherwise, with
    everything by name. With nothing left to give the arguments are checked once.
    """

    def __new__(
        cls,
        name: str,
        call: Callable[..., object],
        program: Program | None,
        parameters: Sequence[str],
        values: dict[str, Any],
        offset_provider: Mapping[str, Any] | None,
        on_reject: Callable[..., object],
    ) -> Self: ...
    def __call__(
        self, *args: Any, offset_provider: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None: ...
    def call(self) -> None:
        """Call with what was bound, where that is everything."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...
    @property
    def fixed(self) -> dict[str, Any]: ...

Recorded: TypeAlias = tuple[
    Callable[..., Any], tuple[Any, ...], dict[str, Any] | None, Mapping[str, Any] | None
]

class Recorder:
    """Recorded calls of one thread; may be subclassed.

    Slots are fields and numbers of NumPy; a call takes others for them by name. Where the calls
    cannot be made natively, `on_fallback(slots, why)` makes them; `why` is None if nobody need be
    told.

    Attributes:
        most_ready: how many choices of fields for the slots stay ready, with the fields.

    """

    most_ready: int

    def __new__(
        cls, slots: dict[str, Any], on_fallback: Callable[[dict[str, Any], str | None], object]
    ) -> Self: ...
    def __call__(self, **fields: Any) -> None: ...
    def begin(self) -> None: ...
    def end(self) -> None: ...
    def note(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> None: ...
    def survey(self) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        """Pairs (call, slot) of arguments that are a slot's value, and of other views of it."""

    @property
    def calls(self) -> tuple[Recorded, ...]: ...
    @property
    def slots(self) -> dict[str, Any]: ...

class Limited:
    """A callable that sets the wishes of the thread for the time of a call; may be subclassed."""

    def __new__(cls, call: Any, threads: int = 0, workspace: Workspace | None = None) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    @property
    def call(self) -> Any: ...
    @property
    def threads(self) -> int: ...
    @property
    def workspace(self) -> Workspace | None: ...

@final
class Workspace:
    """Memory of the caller for temporaries: a contiguous, writable buffer, or array of a GPU."""

    def __new__(cls, buffer: Any) -> Self: ...
    @property
    def size(self) -> int: ...
    @property
    def device(self) -> tuple[int, int]: ...

def recording() -> Recorder | None:
    """Return the sequence that takes down the calls of this thread."""

halo_entry: int  # the address of the entry point that fills halos
halo_adjoint_entry: int  # of its adjoint, for float32 and float64

def set_machine(
    shared_cache: int, bandwidth: int, stream_from: int, parallel_from: int, /
) -> None: ...
def default_threads() -> int: ...
def workers() -> int: ...
def set_threads(count: int, /) -> int:
    """Set how many threads calls of this thread use, 0 for no wish; return what it was."""

def set_workspace(workspace: Workspace | None, /) -> Workspace | None:
    """Set the workspace for calls of this thread; return what it was."""

def set_observed(observed: bool, /) -> None:
    """Say whether hooks or metrics are in use, so that prepared calls go the ordinary way."""

def set_timed(timed: bool, /) -> None:
    """Say whether time is taken around generated code."""

def reduce(array: object, op: str) -> float | int | bool:
    """Return 'sum', 'squares' (their sum), 'max' or 'min' of the elements of an array.

    The order is fixed by shape and strides. Sums of floats are computed in float64.
    """

def kernel_seconds() -> float:
    """Return the seconds that this thread was inside generated code while calls were timed."""

gpu: Any  # the native half of the GPU runtime; typed in `gpu/native.pyi`

def row_instructions() -> list[str]:
    """Return the names of all kernels."""

def row_kernel_classes() -> list[str]:
    """Return the classes of kernels that this processor can run, the fastest first."""

def run_row_kernel(name: str, kernels: str, out: int, operands: list[int], count: int) -> None:
    """Run one kernel on numbers at addresses."""
