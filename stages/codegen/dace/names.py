"""The names of one kernel in an SDFG: the user's names where C++ and DaCe allow them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Bound,
    Buffer,
    Column,
    DomainSymbol,
    Kernel,
    Loop,
    Nest,
    NestLoop,
    Range,
    Ranges,
    ScalarSymbol,
    Stride,
    arrays_of,
    walk,
)
from ..interface import split
from .arrangement import needs_guard

SDFG_NAME: Final = "kernel"  # never the user's: C++ names functions after it
NEST: Final = "nest"  # the entry of `location` that is the number of a tasklet's nest
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_OWN: Final = re.compile(r"asm\(.*?\);|0x[0-9a-fp+.-]+|\b([qwvk]\d+|[bsuf]\d+|const|ahead0)\b")

# Names that C++ or our text around DaCe's reserves; names of one letter and a number are ours.
_TAKEN: Final = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class
    compl concept const const_cast consteval constexpr constinit continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor xor_eq and_ None True False
    arena blockDim blockIdx dace gridDim handle ints kernel lambda main omp ptrs real
    scalars status std threadIdx uint unix linux""".split()  # noqa: SIM905 - a list of words
)
_OURS: Final = re.compile(
    r"[a-z]+[0-9]+(_.*)?|_.*|.*__.*|(u?int|float)[0-9]*_t|[A-Z]|[A-Z][A-Z0-9_]*_MAX"
)


@classes.frozen
class GuardedStop:
    """The end of the outermost loop of a nest; equal to the start if the guard is empty."""

    start: Bound
    stop: Bound
    guard: tuple[Range, ...]


@classes.frozen
class OnlyStatement:
    """The number, from 1 on, of the only statement that runs; 0 for all."""


@classes.frozen
class TileCount:
    """How many threads, from 1 on, share rows, each with arrays of its own."""

    most: int


Meaning: TypeAlias = "Bound | Stride | GuardedStop | OnlyStatement | TileCount"
STATUS: Final = "status"  # the argument in which a checked program notes its first bad store
THREAD: Final = "thread0"  # the index of such a thread: no field has this name


class SdfgNames:
    """The names of a kernel: `u`, `u_I_stride`, `out_I_stop`, `i_I`."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        bodies = [each for each in walk(kernel) if isinstance(each, Nest | Column)]
        self.columns = {n: each for n, each in enumerate(bodies) if isinstance(each, Column)}
        self.nests = tuple(map(_loops_of, bodies))  # a number of a nest is its place here
        self.by_name = {buffer.name: buffer for buffer in kernel.buffers}
        self._claimed: set[str] = set()
        self.data = {buffer.name: self._claim(buffer.name) for buffer in kernel.buffers}
        self.buffers = {self.data[buffer.name]: buffer for buffer in kernel.buffers}
        self.scalars = {name: self._claim(name) for name, _ in kernel.scalars}
        self.dtypes = {self.scalars[name]: dtype for name, dtype in kernel.scalars}
        self._loops: dict[tuple[str, Dimension], str] = {}
        self._known: dict[Meaning, str] = {}

    def _claim(self, wanted: str) -> str:
        """Return a unique name like the one wanted."""
        plain = re.sub(r"[^0-9A-Za-z_]+", "_", wanted).strip("_") or "value"
        if plain in _TAKEN or _OURS.fullmatch(plain) or not plain[0].isalpha():
            plain = f"f_{plain}"
        name, number = plain, 1
        while name in self._claimed or name.lower() in _TAKEN:
            name, number = f"{plain}_{number}", number + 1
        self._claimed.add(name)
        return name

    # --- loops ----------------------------------------------------------------------------------

    def loop(self, loop: NestLoop) -> str:
        """Return the name of the index of a loop; that of a vector loop is one of `lanes`."""
        return self._index("v" if loop.kind == "vector" else "i", loop.range.dim)

    def plane(self, loop: Loop) -> str:
        """Return the name of the index of a loop around nests."""
        return self._index("o", loop.range.dim)

    def _index(self, letter: str, dim: Dimension) -> str:
        if (letter, dim) not in self._loops:
            self._loops[letter, dim] = self._claim(f"{letter}_{dim.value}")
        return self._loops[letter, dim]

    @property
    def lanes(self) -> set[str]:
        """The indices of vector loops."""
        return {name for (letter, _), name in self._loops.items() if letter == "v"}

    def loops_over(self, dims: Collection[str]) -> tuple[str, ...]:
        """Return the names of the loops over some dimensions."""
        return tuple(name for (_, dim), name in self._loops.items() if dim.value in dims)

    # --- integers -------------------------------------------------------------------------------

    @property
    def symbols(self) -> dict[str, Meaning]:
        """The symbols in use, and their meanings."""
        return {name: meaning for meaning, name in self._known.items()}

    def symbol(self, meaning: Meaning) -> str:
        """Return the symbol of an integer that only a call knows."""
        if meaning not in self._known:
            self._known[meaning] = self._claim(self._word(meaning))
        return self._known[meaning]

    def _word(self, meaning: Meaning) -> str:
        match meaning:
            case Stride(name, axis):
                return f"{self.data[name]}_{self.by_name[name].dims[axis].value}_stride"
            case DomainSymbol(end=end, field=field, dim=dim):
                return f"{self.data[field]}_{dim.value}_{end}"
            case ScalarSymbol(name=name):
                return f"{self.scalars[name]}_index"
            case GuardedStop():
                return "stop_if_any"
            case OnlyStatement():
                return "only_statement"
            case TileCount():
                return "thread_count"
        return "bound"

    def bound(self, bound: Bound) -> tuple[str | None, int]:
        """Return the symbol of a bound, None if it has none, and what is added to it."""
        symbol, constant = split(bound)
        return (None if symbol is None else self.symbol(symbol)), constant

    def text(self, bound: Bound) -> str:
        """Return a bound as an expression that binds tightly."""
        symbol, constant = self.bound(bound)
        if symbol is None:
            return f"({constant})" if constant < 0 else str(constant)
        return f"({symbol} {'+' if constant > 0 else '-'} {abs(constant)})" if constant else symbol

    def end(self, end: Bound | GuardedStop) -> str:
        """Return the start or stop of a loop as an expression that binds tightly."""
        return self.symbol(end) if isinstance(end, GuardedStop) else self.text(end)

    def strides(self, buffer: Buffer) -> list[str]:
        """Return the stride of each axis: '1', or a symbol."""
        return [
            "1" if dim is buffer.unit else self.symbol(Stride(buffer.name, axis))
            for axis, dim in enumerate(buffer.dims)
        ]

    def ends(self, nest: Nest, loop: NestLoop) -> tuple[str, str]:
        """Return the ends of a loop as expressions; the outermost one has the guard of its nest."""
        start, stop, guard = loop.range.start, loop.range.stop, self.guard(nest)
        is_guarded = loop is nest.loops[0] and needs_guard(nest, guard)
        return self.end(start), self.end(GuardedStop(start, stop, guard) if is_guarded else stop)

    def guard(self, nest: Nest) -> Ranges:
        """Return the box that must not be empty, so that a nest runs."""
        return self.kernel.groups[nest.group].box

    def touched(self) -> list[Buffer]:
        """Return the buffers that nests read or write, in the order of the kernel."""
        found = arrays_of(self.kernel)
        return [buffer for buffer in self.kernel.buffers if buffer.name in found]


def _loops_of(node: Nest | Column) -> Nest:
    """Return a nest, or the loops over columns, which depend on no other, as an empty one."""
    if isinstance(node, Nest):
        return node
    loops = tuple(classes.evolve(loop, kind="parallel") for loop in node.loops)
    return Nest(node.group, loops, (), node.reason)


def words(text: str) -> list[str]:
    """Return the names in an expression of ours that DaCe's text must define."""
    return _WORD.findall(_OWN.sub("", text))
