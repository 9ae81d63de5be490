"""Write instructions of a nest that stand at one place as a C++ tasklet, and what it touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Advance,
    Argument,
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Nest,
    Number,
    Row,
    State,
    Store,
)
from ..rows import TYPES, noted
from .names import STATUS
from .rooms import Build


@classes.frozen
class SdfgNest:
    """A nest of an SDFG.

    Attributes:
        build: what it shares with the other nests.
        number: its number, in the labels of its nodes.
        nest: its loops and instructions; for a GPU those of one thread.
        indices: the names of the loop indices.
        rows: the dimension of the loop over rows around it, along which the index in arrays is that
            of the thread.

    """

    build: Build
    number: int
    nest: Nest
    indices: Mapping[Dimension, str]
    rows: Dimension | None = None


@classes.define
class Block:
    """A tasklet of the rows `here`: its lines, and its reads and writes by connector.

    `loads` are elements of buffers, `lookups` pointers into buffers that it indexes itself,
    `known` values from around it, `states` those of the scan; loops inside read the `exports`.
    `scalars` have their connectors by name.
    """

    here: frozenset[Row] = frozenset()
    exports: dict[str, Row] = classes.field(factory=dict)
    lines: list[str] = classes.field(factory=list)
    loads: dict[str, Load] = classes.field(factory=dict)
    lookups: dict[str, Load] = classes.field(factory=dict)
    scalars: dict[str, str] = classes.field(factory=dict)
    known: dict[str, Row] = classes.field(factory=dict)
    states: dict[str, int] = classes.field(factory=dict)
    stores: dict[str, Store] = classes.field(factory=dict)
    advances: dict[str, int] = classes.field(factory=dict)
    tests: bool = False


def ranged_axes(load: Load) -> tuple[int, ...]:
    """Return the axes that a lookup indexes itself: the indirect ones, or the first."""
    told = tuple(axis for axis, row in enumerate(load.rows) if row is not None)
    return told or tuple(range(len(load.dims)))[:1]


def block_of(own: SdfgNest, numbers: Sequence[Row], exports: Sequence[Row]) -> Block:
    """Return the tasklet of the rows `numbers`; loops inside read the values of `exports`."""
    block = Block(frozenset(numbers), {f"v{row}": row for row in exports})
    for number in numbers:
        block.lines += _lines(own, number, block)
    return block


def first_state(own: SdfgNest, index: int, row: Row) -> Block:
    """Return the tasklet that sets a state before the first level."""
    block = Block(advances={"o0": index})
    block.lines.append(f"o0 = {_operand(own, row, block)};")
    return block


def _lines(own: SdfgNest, number: Row, block: Block) -> Iterator[str]:
    """Write one instruction, and add the connector that it needs."""
    row = own.nest.body[number]
    match row:
        case Load():
            yield from _load(own, number, row, block)
        case State(index=index):
            block.states[f"v{number}"] = index
        case Store():
            yield from _store(own, number, row, block)
        case Advance(index=index, value=value):
            block.advances[f"o{number}"] = index
            yield f"o{number} = {_operand(own, value, block)};"
        case Compute(op=op, dtype=dtype, args=args):
            dtypes = [own.nest.body[arg].dtype for arg in args]
            operands = [_operand(own, arg, block) for arg in args]
            made = own.build.dialect.operation(op, dtype, operands, dtypes)
            own.build.functions.update(made.functions)
            yield _set(number, row, made.text, block)
        case _:
            raise TypeError(f"A tasklet cannot hold '{type(row).__name__}'.")


def _set(number: Row, row: Instruction, text: str, block: Block) -> str:
    begin = "" if f"v{number}" in block.exports else f"const {TYPES[row.dtype][0]} "
    return f"{begin}v{number} = {text};"


def _load(own: SdfgNest, number: Row, load: Load, block: Block) -> Iterator[str]:
    """Add a load: a connector that is the value, or one from which a line computes it."""
    if load.when is not None or load.is_told:
        block.lookups[f"l{number}"] = load
        value = f"l{number}[{_index(own, load, block)}]"
    elif load.dtype == "bool" or f"v{number}" in block.exports:
        block.loads[f"l{number}"] = load
        value = f"l{number}"
    else:
        block.loads[f"v{number}"] = load
        return
    value += " != 0" if load.dtype == "bool" else ""
    if load.when is not None:
        value = f"{_operand(own, load.when, block)} ? {value} : {TYPES[load.dtype][0]}(0)"
    yield _set(number, load, value, block)


def _store(own: SdfgNest, number: Row, store: Store, block: Block) -> Iterator[str]:
    """Add a store, and in a checked program the test of its value."""
    block.stores[f"o{number}"] = store
    value = _operand(own, store.value, block)
    yield f"o{number} = {value};"
    test = own.build.tests.get((own.nest.group, store.buffer))
    if test is not None:
        block.tests = True
        yield noted(test, store.dtype, value, f"{STATUS}_at")


def _index(own: SdfgNest, load: Load, block: Block) -> str:
    """Return the index along the axes that the memlet leaves open."""
    buffer = own.build.names.by_name[load.buffer]
    strides, terms = own.build.names.strides(buffer), []
    for axis in ranged_axes(load):
        _, row, offset = load.places[axis]
        around = own.indices.get(buffer.dims[axis], "")
        base = around if row is None else _operand(own, row, block)
        index = f"{base} + ({offset})" if base and offset else base or str(offset)
        terms.append(f"s64({index})" + (f" * {strides[axis]}" if strides[axis] != "1" else ""))
    return " + ".join(terms) or "0"


def _operand(own: SdfgNest, number: Row, block: Block) -> str:
    match own.nest.body[number]:
        case Constant(text=text, dtype=dtype):
            return own.build.dialect.constant(text, dtype)
        case Argument(name=name):
            return block.scalars.setdefault(name, f"x{len(block.scalars)}")
        case Index(dim=dim):
            return f"s64({own.indices[dim]})"
        case Number(bound=bound):
            return f"s64({own.build.names.text(bound)})"
    if number not in block.here:
        block.known[f"v{number}"] = number
    return f"v{number}"
