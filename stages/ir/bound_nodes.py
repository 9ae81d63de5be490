"""Bounds as immutable values: integers, symbols, and operations on them that share their parts.

Both ends of the range of a table contain both ends of the range of its rows. Walks visit each
shared part once. `str` writes it each time; sort by `key_of` instead, which is short.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from ...runtime import _values
from ...runtime.language import Dimension
from ...runtime.process import classes
from ...runtime.process.sha256 import sha256
from .strides import Stride

Operation: TypeAlias = Literal["add", "mul", "floordiv", "mod", "min", "max"]

LONGEST_KEY: Final = 200
DIGEST: Final = "~"  # prefix of the key of a long bound


@classes.frozen
class Const:
    """A known integer."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@classes.frozen
class ScalarSymbol:
    """The value of an integer scalar argument; printed as its name."""

    name: str

    def __str__(self) -> str:
        return self.name


@classes.frozen
class DomainSymbol:
    """The first index, or one past the last, of a field argument; printed `start(u, I)`."""

    end: Literal["start", "stop"]
    field: str
    dim: Dimension

    def __str__(self) -> str:
        return f"{self.end}({self.field}, {self.dim.value})"


@classes.frozen(eq=False)
class _Shared:
    """A bound with arguments; a digest compares it, because it may share parts many times.

    `depth` is the nesting of minima and maxima; `key` is the text, or its digest if it is long, and
    is set by `key_of`.
    """

    digest: bytes = classes.field(init=False, eq=False, repr=False)
    key: str = classes.field(init=False, eq=False, repr=False, default="")
    split: tuple[tuple[Term, ...], int] | None = classes.field(
        init=False, eq=False, repr=False, default=None
    )
    depth: int = classes.field(init=False, eq=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Shared) and self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)


@classes.frozen(eq=False)
class Apply(_Shared):
    """An integer operation; printed `max(n, 3)`, `n + -1`, `floordiv(n, 2)`."""

    op: Operation
    args: tuple[Bound, ...]

    def __attrs_post_init__(self) -> None:
        deepest = max(map(_depth, self.args), default=0)
        set_once(self, "depth", deepest + (self.op in ("min", "max")))
        set_once(self, "digest", _digest(self.op, *map(_identity, self.args)))

    def __str__(self) -> str:
        return self.spelled([str(arg) for arg in self.args])

    def spelled(self, inner: Sequence[str]) -> str:
        """Return the text of the operation, given the texts of its arguments."""
        return " + ".join(inner) if self.op == "add" else f"{self.op}({', '.join(inner)})"


@classes.frozen(eq=False)
class TableBound(_Shared):
    """The smallest valid entry of a table in rows `start .. stop`, or one past the largest entry.

    It is 0 if no entry is valid. Only the entries of `slots` count, those of all slots if there are
    none. Printed `lowest(E2C, 0, n)`, `beyond(E2C[1], 0, n)`.
    """

    end: Literal["lowest", "beyond"]
    table: str
    start: Bound
    stop: Bound
    slots: tuple[int, ...] = ()

    def __attrs_post_init__(self) -> None:
        set_once(self, "depth", 0)
        rows = map(_identity, (self.start, self.stop))
        slots = self.slots_text.encode()
        set_once(self, "digest", _digest(self.end, self.table.encode(), *rows, slots))

    @property
    def slots_text(self) -> str:
        """The slots as a listing has them after the name of the table: `[0, 2]`, or nothing."""
        return f"[{', '.join(map(str, self.slots))}]" if self.slots else ""

    def __str__(self) -> str:
        return self.spelled([str(self.start), str(self.stop)])

    def spelled(self, inner: Sequence[str]) -> str:
        """Return the text of the bound, given the texts of its rows."""
        return f"{self.end}({', '.join((self.table + self.slots_text, *inner))})"


@classes.frozen
class PatchMember:
    """What the inspector of patches knows of one nest.

    It `fills` arrays, `row_bytes` of shared memory for each element, or stores fields; then each
    element belongs to the patch of a neighbour in the last nest: table `owner` leads there, or from
    there. `readings` are the places of nests that it reads, with rows (table, slot) that lead to
    the elements of these, one after the other. The elements of place `begins`, if it is one, stand
    first in its lists, whether others need them or not.
    """

    fills: bool
    row_bytes: int
    owner: str
    leads_back: bool
    readings: tuple[tuple[int, tuple[tuple[str, int], ...]], ...]
    begins: int = -1


@classes.frozen
class PatchOrder:
    """An order to the inspector: patches of `size` elements of the last of some nests.

    They need at most `most` bytes of shared memory, and the filled elements, those that several
    patches fill counted each time, are at most `percent` of those there are. A thread of a CPU
    computes `portion` of them at a time, 0 stands for all, and small meshes have smaller patches.
    """

    size: int
    portion: int
    most: int
    percent: int
    members: tuple[PatchMember, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that lead from nest to nest, each once."""
        links = (table for each in self.members for _, way in each.readings for table, _ in way)
        return tuple(dict.fromkeys(links))


@classes.frozen
class PatchBound:
    """A number of the lists that an inspector makes of tables; printed `patches(96 by E2V, ~9a)`.

    The `address` of the lists on the device, how many `patches` there are and the `size` of one in
    elements, or the bytes of `shared` memory of a block; 0 where there are no lists.
    """

    number: Literal["address", "patches", "shared", "size"]
    order: PatchOrder

    def __str__(self) -> str:
        digest = sha256(repr(self.order).encode())[:8]
        tables = " ".join(self.order.tables)
        return f"{self.number}({self.order.size} by {tables}, {DIGEST}{digest})"


Bound: TypeAlias = Const | ScalarSymbol | DomainSymbol | TableBound | PatchBound | Stride | Apply


# Known at a call only.
Symbol: TypeAlias = ScalarSymbol | DomainSymbol | TableBound | PatchBound | Stride


@classes.frozen
class Range:
    """The indices `start <= i < stop` of one dimension; printed `I: 1 .. n`."""

    dim: Dimension
    start: Bound
    stop: Bound

    def __str__(self) -> str:
        return f"{self.dim.value}: {self.start} .. {self.stop}"


Ranges: TypeAlias = tuple[Range, ...]


Term: TypeAlias = tuple["Bound", int]  # a bound other than a constant or sum, and its factor


def parts(*bounds: Bound) -> Iterator[Bound]:
    """Yield all parts of `bounds`, shared parts once, arguments before their users."""
    found: set[int] = set()  # identities: a hash or a comparison would recurse
    stack: list[tuple[Bound, bool]] = [(bound, False) for bound in reversed(bounds)]
    while stack:
        part, ready = stack.pop()
        if id(part) in found:
            continue
        inner = arguments(part)
        if ready or not inner:
            found.add(id(part))
            yield part
        else:
            stack.append((part, True))
            stack += [(arg, False) for arg in reversed(inner)]


def arguments(bound: Bound) -> tuple[Bound, ...]:
    """Return the arguments of a bound."""
    if isinstance(bound, Apply):
        return bound.args
    return (bound.start, bound.stop) if isinstance(bound, TableBound) else ()


def arguments_of(op: Operation, bound: Bound) -> tuple[Bound, ...]:
    """Return the arguments if the bound is this operation, else the bound itself."""
    return bound.args if isinstance(bound, Apply) and bound.op == op else (bound,)


def key_of(bound: Bound) -> str:
    """Return the key by which bounds are sorted."""
    stack = [bound]
    while stack:
        part = stack[-1]
        missing = [arg for arg in arguments(part) if isinstance(arg, _Shared) and not arg.key]
        if isinstance(part, Apply | TableBound) and not part.key:
            if missing:
                stack += missing
                continue
            set_once(part, "key", _shortened(part.spelled([_key(arg) for arg in arguments(part)])))
        stack.pop()
    return _key(bound)


def _key(bound: Bound) -> str:
    return bound.key if isinstance(bound, Apply | TableBound) else str(bound)


def is_long(bound: Bound) -> bool:
    """Tell whether the text of a bound exceeds 200 characters."""
    return isinstance(bound, Apply) and key_of(bound).startswith(DIGEST)


set_once: Final = object.__setattr__  # sets a field of a frozen value that its users cannot set


def _depth(bound: Bound) -> int:
    return bound.depth if isinstance(bound, _Shared) else 0


def _identity(bound: Bound) -> bytes:
    match bound:
        case Apply() | TableBound():
            return bound.digest
        case Const():
            return b"%d" % bound.value
        case ScalarSymbol():
            return b"s" + bound.name.encode()
        case PatchBound() | Stride():
            return b"p" + str(bound).encode()
        case DomainSymbol():
            dim = bound.dim
            return _digest(bound.end, bound.field.encode(), dim.value.encode(), dim.kind.encode())


def _digest(op: str, *parts: bytes) -> bytes:
    """Return a digest that identifies an operation and its arguments."""
    sizes = ",".join([op, *(str(len(part)) for part in parts), ""])
    return _values.sha256(sizes.encode() + b"".join(parts))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_KEY else DIGEST + sha256(text.encode())[:24]
