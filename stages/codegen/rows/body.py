"""Write rows of a body as C++, by their addresses and the dialect of a platform.

A platform makes a `Scope` of the kernel with its `Dialect`, and for each nest `body_of(scope,
nest)`. That gives each load and store an address (`addresses.py`). It then chooses what is
different with `classes.evolve(body, ...)`, again where that changes from step to step:

* `addresses`: elements in shared memory, in a window of registers, in a lane (`Element`), or a row
  whose pointer has another start (`InRow(pointer, start)`);
* `instead`: the text in place of a row, such as a wide access, or a value that is known here;
* `names`, `same` and `positions`: other names of rows and of indices, as for rows prefetched.

`pointers`, `states`, `written` and `line` write text without indentation; `element`, `index` and
`operand` write its parts. `scope.uses` has collected what the text asks for once it is written, so
read it after the last line of a generator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Access,
    Advance,
    Argument,
    Compute,
    Constant,
    Get,
    Index,
    Instruction,
    Load,
    Nest,
    Number,
    Row,
    Set,
    State,
    Store,
    axis_along,
    is_told,
    marks_of,
)
from .addresses import DIRECT, Address, Element, InRow, addresses_of
from .checks import tested
from .expressions import TYPES
from .extrema import trees
from .nesting import LONGEST, bracketed, single_uses
from .scope import Scope, plus, stored_type

# Instructions without a variable: their text stands at each use.
NAMELESS: Final = (Constant, Argument, Index, Number)


@classes.frozen
class Body:
    """The rows of a nest or a column, and how they are written.

    Attributes:
        scope: the names of the kernel.
        group: whose stores these are.
        rows: all instructions.
        depth: the level of rows inside the innermost loop.
        inner: the dimension of the innermost loop, along which rows of memory lie.
        positions: the name of the current index of each loop.
        addresses: where loads and stores find their elements, if not by all of their indices.
        states: dtype and initial row of the states of a scan.
        trees: the leaves of each row of a tree of extrema, see `extrema.py`.
        instead: text in place of rows; nothing is written for an empty one.
        names: of rows whose name is not `v<row>`.
        same: rows in whose place others are read.
        nested: the texts of rows that stand in the row that uses them, see `nesting.py`.

    """

    scope: Scope
    group: int
    rows: tuple[Instruction, ...]
    depth: int
    inner: Dimension | None
    positions: Mapping[Dimension, str]
    addresses: Mapping[Row, Address]
    states: tuple[tuple[str, Row], ...] = ()
    trees: Mapping[Row, tuple[Row, ...]] = classes.field(factory=dict)
    instead: Mapping[Row, str] = classes.field(factory=dict)
    names: Mapping[Row, str] = classes.field(factory=dict)
    same: Mapping[Row, Row] = classes.field(factory=dict)
    nested: Mapping[Row, str] = classes.field(factory=dict)


def body_of(scope: Scope, nest: Nest, besides: Collection[Row] = ()) -> Body:
    """Return the body of a nest; accesses `besides` get no addresses yet, and no pointers."""
    depth = len(nest.loops)
    dims = [loop.range.dim for loop in nest.loops]
    inner = dims[-1] if dims else None
    numbers = [number for number in range(len(nest.body)) if number not in besides]
    fewest = 0 if marks_of(nest).slides else scope.dialect.fewest_leaves
    return Body(
        scope, nest.group, nest.body, depth, inner,
        {**scope.around, **{dim: f"i{level}" for level, dim in enumerate(dims)}},
        addresses_of(nest.body, numbers, scope.by_name, inner, inside=depth), nest.states,
        trees(nest.body, depth, nest.states, fewest) if fewest else {},
    )  # fmt: skip


# --- lines --------------------------------------------------------------------------------------


def written(body: Body, level: int, part: int = 0) -> Iterator[str]:
    """Write the rows inside `level` loops, for one part of the innermost loop."""
    is_inner = level == body.depth
    here = [
        number
        for number, row in enumerate(body.rows)
        if row.level == level and (not is_inner or row.part == part)
        if not isinstance(row, NAMELESS)
    ]
    if is_inner and body.scope.dialect.nests_operands:
        yield from _nested(body, here)
    else:
        yield from filter(None, (line(body, number) for number in here))


def _nested(body: Body, here: Sequence[Row]) -> Iterator[str]:
    """Write rows, those with one use in the row that uses them."""
    tested = {buffer for group, buffer in body.scope.tests if group == body.group}
    own = [number for number in here if number not in body.instead]
    single = single_uses(body.rows, own, (row for _, row in body.states), body.trees, tested)
    nested: dict[Row, str] = {}
    body = classes.evolve(body, nested=nested)
    for number in here:
        if number in single and len(text := value_of(body, number)) <= LONGEST:
            nested[number] = text
        elif text := line(body, number):
            yield text


def states(body: Body) -> Iterator[str]:
    """Define the states of a scan before its loop."""
    yield from (
        f"{TYPES[dtype][0]} s{number} = {operand(body, row)};"
        for number, (dtype, row) in enumerate(body.states)
    )


def pointers(body: Body) -> Iterator[str]:
    """Define a pointer for each row of memory: all indices but the innermost are summed before it.

    The pointers are those in `addresses`, in their order.
    """
    known: set[str] = set()
    for number, address in body.addresses.items():
        access = body.rows[number]
        if isinstance(address, InRow) and not address.is_given and address.pointer not in known:
            assert isinstance(access, Access)
            known.add(address.pointer)
            yield pointer(body, access, address)


def pointer(body: Body, access: Access, address: InRow) -> str:
    """Define the pointer to the row of an access."""
    buffer = body.scope.by_name[access.buffer]
    start = address.start or start_of_row(body, access)
    told = is_told(body.rows, access)
    return body.scope.dialect.pointer(stored_type(buffer), address.pointer, start, told)


def start_of_row(body: Body, access: Access) -> str:
    """Return the address of the row of an access by its indices."""
    buffer = body.scope.by_name[access.buffer]
    inner = axis_along(body.rows, access, buffer, body.inner)
    outside = [axis for axis in range(len(buffer.dims)) if axis != inner]
    return " + ".join([body.scope.buffer(buffer.name), *_terms(body, access, outside)])


def line(body: Body, number: Row) -> str:
    """Write one row."""
    if number in body.instead:
        return body.instead[number]
    row = body.rows[number]
    match row:
        case Store():
            return _store(body, number, row)
        case Advance(index=index, value=value):
            return f"s{index} = {_assigned(body, value)};"
        case Set(register=register, value=value):
            return f"g{register} = {operand(body, value)};"
    return f"const {TYPES[row.dtype][0]} {name(body, number)} = {value_of(body, number)};"


def _store(body: Body, number: Row, row: Store) -> str:
    place = element(body, row, body.addresses.get(number, DIRECT))
    value = operand(body, row.value) if row.add else _assigned(body, row.value)
    made = _computed(body, "add", row.dtype, [place, value], [row.dtype] * 2) if row.add else value
    text = f"{place} = {made};"
    store = body.scope.tests.get((body.group, row.buffer))
    if store is not None:
        text += f" {tested(store, row.dtype, place if row.add else value)}"
    return text if row.when is None else f"if ({operand(body, row.when)}) {{ {text} }}"


# --- values -------------------------------------------------------------------------------------


def name(body: Body, number: Row) -> str:
    """Return the name of a row."""
    return body.names.get(number, f"v{number}")


def operand(body: Body, number: Row) -> str:
    """Return the text by which other rows read a row."""
    number = body.same.get(number, number)
    if number in body.nested:
        return bracketed(body.nested[number])
    match body.rows[number]:
        case Constant(text=text, dtype=dtype):
            return body.scope.dialect.constant(text, dtype)
        case Argument(name=parameter):
            return body.scope.scalar(parameter)
        case Index(dim=dim):
            return body.positions[dim]
        case Number(bound=bound):
            return f"s64({body.scope.bound(bound)})"
    return name(body, number)


def value_of(body: Body, number: Row) -> str:
    """Return the value of a row that has a name."""
    match body.rows[number]:
        case Load() as load:
            return loaded(body, load, element(body, load, body.addresses.get(number, DIRECT)))
        case State(index=index):
            return f"s{index}"
        case Get(register=register):
            return f"g{register}"
        case Compute() as row if number in body.trees:
            made = body.scope.dialect.extremum(
                row, body.trees[number], lambda each: operand(body, each)
            )
            body.scope.uses.functions.update(made.functions)
            return made.text
        case Compute(op=op, dtype=dtype, args=args):
            dtypes = [body.rows[arg].dtype for arg in args]
            return _computed(body, op, dtype, [operand(body, arg) for arg in args], dtypes)
    raise TypeError(f"The C++ writer does not know '{type(body.rows[number]).__name__}'.")


def _assigned(body: Body, number: Row) -> str:
    return body.nested.get(number) or operand(body, number)


def _computed(body: Body, op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> str:
    made = body.scope.dialect.operation(op, dtype, args, dtypes)
    body.scope.uses.functions.update(made.functions)
    return made.text


def loaded(body: Body, load: Load, value: str) -> str:
    """Return the value of a load from that of its element."""
    if load.when is not None:
        value = f"({operand(body, load.when)} ? {value} : {TYPES[load.dtype][0]}(0))"
    return f"{value}{' != 0' if load.dtype == 'bool' else ''}"


# --- elements -----------------------------------------------------------------------------------


def element(body: Body, access: Access, address: Address) -> str:
    """Return the element of an access at an address."""
    if isinstance(address, Element):
        return f"{address.array}[{address.index}]"
    buffer = body.scope.by_name[access.buffer]
    if isinstance(address, InRow):
        axis = axis_along(body.rows, access, buffer, body.inner)
        assert axis is not None
        axes, array = [axis], address.pointer
    else:
        axes, array = list(range(len(buffer.dims))), body.scope.buffer(buffer.name)
    return f"{array}[{' + '.join(_terms(body, access, axes)) or '0'}]"


def index(body: Body, access: Access, axis: int) -> str:
    """Return the index of an access along an axis."""
    buffer = body.scope.by_name[access.buffer]
    row, offset = access.coordinates(len(buffer.dims))[axis]
    dim = buffer.dims[axis]
    if row is not None:
        found = operand(body, row)
    elif dim in body.positions:
        found = body.positions[dim]
    else:
        return str(offset)
    return f"({plus(found, offset)})" if offset else found


def _terms(body: Body, access: Access, axes: Collection[int]) -> Iterator[str]:
    """Yield the terms of the place of an element: indices times strides."""
    scope, buffer = body.scope, body.scope.by_name[access.buffer]
    for axis in axes:
        found = scope.inside(buffer, axis, index(body, access, axis))
        if found != "0":
            yield scope.term(buffer, axis, found)
