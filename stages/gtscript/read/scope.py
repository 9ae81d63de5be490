"""The state of a reader: the tables of the tree, and what names mean where it reads.

Fields and temporaries with data axes: each element is a variable of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, TypeAlias

from ....runtime.process import Span, classes
from ...ir.literal import respell
from ...ir.stencil import Assign, Block, End, Limits, Node, Number, Order, Read, Ref, Variable
from ...parse.source import Located, Source
from .. import (
    GTScriptSymbolError,
    GTScriptSyntaxError,
    InOrder,
    NotYetSupportedError,
    StencilRefusedError,
    definition as given,
    element_name,
)

Place: TypeAlias = tuple[int, ...]  # an index for each data axis


@classes.frozen
class Elements:
    """A field with data axes of these `sizes`, as one variable for each element.

    `whole` is what all of them are, `variables` are their numbers, the last axis fastest.
    """

    whole: Variable
    sizes: tuple[int, ...]
    variables: tuple[int, ...]

    @property
    def places(self) -> Iterator[Place]:
        """The index of each element, in order."""
        return product(*map(range, self.sizes))

    def at(self, place: Sequence[int]) -> int:
        """Return the variable of an element."""
        number = 0
        for size, index in zip(self.sizes, place, strict=True):
            number = number * size + index
        return self.variables[number]


@classes.frozen
class Part:
    """The element of a vector or matrix of these `sizes` that an expression is read for."""

    sizes: tuple[int, ...]
    place: Place


Inline: TypeAlias = Callable[["Scope", ast.Call, given.FunctionDefinition, int], tuple[Ref, ...]]
Binding: TypeAlias = int | Elements | given.Constant | None  # a variable by number, a constant
MOST_SHOWN: Final = 60


@classes.define
class Tables:
    """The tables of a stencil while it is read.

    `places` are the spans of the nodes, `wheres` those of the assignments of each block.
    `first_block` is the block that first assigns a temporary, `written` what is assigned so far
    outside of regions, `constants` what the text has used of the externals. `arguments` are the
    variables of each argument: one, or one for each element.
    """

    definition: given.StencilDefinition
    variables: list[Variable] = classes.field(factory=list)
    nodes: list[Node] = classes.field(factory=list)
    places: list[Span] = classes.field(factory=list)
    blocks: list[Block] = classes.field(factory=list)
    wheres: list[list[Span]] = classes.field(factory=list)
    first_block: dict[int, int] = classes.field(factory=dict)  # of temporaries
    constants: dict[str, given.Number] = classes.field(factory=dict)
    written: set[int] = classes.field(factory=set)
    arguments: dict[str, tuple[int, ...]] = classes.field(factory=dict)
    level: int | None = None  # the variable that is the level
    choices: set[Ref] = classes.field(factory=set)  # tests of indices of data axes
    tests: list[Ref] = classes.field(factory=list)  # conditions of numbers, outside of regions
    loops: int = 0  # how many `while` the text has so far
    of_call: set[int] = classes.field(factory=set)  # blocks on levels that only a call knows
    intervals: dict[int, tuple[Ref | End, Ref | End]] = classes.field(factory=dict)  # of blocks
    in_order: list[InOrder] = classes.field(factory=list)  # what calls check of them
    calls: int = 0
    rows: dict[Node, Ref] = classes.field(factory=dict)
    externals: Mapping[str, given.Constant] = classes.field(init=False)
    types: Mapping[str, given.Annotation] = classes.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.externals = dict(self.definition.externals)
        self.types = dict(self.definition.dtypes)

    def add(self, node: Node, place: Span) -> Ref:
        """Return the row of a node; append one if it is new."""
        row = self.rows.setdefault(node, len(self.nodes))
        if row == len(self.nodes):
            self.nodes.append(node)
            self.places.append(place)
        return row

    def declare(self, variable: Variable) -> int:
        """Add a variable; return its number."""
        self.variables.append(variable)
        return len(self.variables) - 1

    def elements(self, whole: Variable, sizes: tuple[int, ...]) -> Elements:
        """Add one variable for each element of a field with data axes."""
        found = Elements(whole, sizes, ())
        numbers = [
            self.declare(classes.evolve(whole, name=element_name(whole.name, place)))
            for place in found.places
        ]
        return classes.evolve(found, variables=tuple(numbers))


@classes.define
class BlockDraft:
    """A block while it is read.

    `mask`, `region` and `loops` are those of the statement that is read, `statement` its number; it
    `is_inside` if it is a part of an `if` or a `while`. Only a call knows the levels of one that
    `is_of_call`.
    """

    order: Order
    statement: int = 0
    mask: Ref | None = None
    region: Limits | None = None
    is_inside: bool = False
    loops: tuple[int, ...] = ()
    is_of_call: bool = False
    body: list[Assign] = classes.field(factory=list)
    wheres: list[Span] = classes.field(factory=list)


@classes.define
class Scope:
    """What the names in one text mean: that of the stencil, or of a function that it calls.

    `names` binds arguments and locals, `constants` what else the text mentions, by path. `suffix`
    tells the locals of one call of a function from those of all others; `callers` are the functions
    around it, and `assigned` the names that the text assigns. `inline` reads a call of a function
    and returns the rows of its results. A vector is read element by element, for one `part`.
    """

    tables: Tables
    source: Source
    inline: Inline
    constants: Mapping[str, given.Constant]
    names: dict[str, Binding] = classes.field(factory=dict)
    suffix: str = ""
    callers: tuple[str, ...] = ()
    assigned: frozenset[str] = frozenset()
    imported: set[str] = classes.field(factory=set)
    block: BlockDraft | None = None
    part: Part | None = None

    @property
    def draft(self) -> BlockDraft:
        """The block that is read."""
        assert self.block is not None  # expressions of statements stand in blocks
        return self.block

    def place(self, node: Located) -> Span:
        """Return the place of a node in the user's file."""
        return self.source.span(node)

    def add(self, made: Node, node: Located) -> Ref:
        """Add a node of the tree."""
        return self.tables.add(made, self.place(node))

    def dtype(self, ref: Ref) -> str:
        """Return the dtype of a node."""
        return self.tables.nodes[ref].dtype

    def read(
        self,
        variable: int,
        node: Located,
        offset: tuple[int, int, int] = (0, 0, 0),
        level: Ref | None = None,
        is_absolute: bool = False,
    ) -> Ref:
        """Read a variable; `level` is the row of an offset along K, or of a level."""
        dtype = self.tables.variables[variable].dtype
        if offset[2] and self.block is not None and self.block.is_of_call:
            level = self.number("int64", str(offset[2]), node)
            offset = (*offset[:2], 0)
        made = Read(
            dtype=dtype, variable=variable, offset=offset, level=level, is_absolute=is_absolute
        )
        return self.add(made, node)

    def number(self, dtype: str, text: str, node: Located) -> Ref:
        """Add a literal."""
        return self.add(Number(dtype=dtype, text=spelled(text, dtype)), node)

    # --- names -----------------------------------------------------------------------------

    def meaning(self, path: str) -> Binding:
        """Return what a path means; None if nothing defines it."""
        if path in self.names:
            return self.names[path]
        root = path.partition(".")[0]
        if root in self.names:
            return None
        known = self.tables.externals if root in self.imported else self.constants
        found = known.get(path)
        if isinstance(found, given.Number):
            self.tables.constants[path] = found
        return found

    # --- errors ----------------------------------------------------------------------------

    def syntax_error(self, node: Located, message: str, *hints: str) -> GTScriptSyntaxError:
        """Return the error about something that GTScript does not have."""
        return GTScriptSyntaxError(self.place(node), message, hints=hints)

    def refuse(self, node: Located, message: str, *hints: str) -> StencilRefusedError:
        """Return the error about something that has no meaning."""
        return StencilRefusedError(self.place(node), message, hints=hints)

    def not_yet(self, node: Located, what: str) -> NotYetSupportedError:
        """Return the error about what fieldforge does not have yet."""
        return NotYetSupportedError(self.place(node), f"{what} not supported yet.")

    def unknown(self, node: Located, name: str) -> GTScriptSymbolError:
        """Return the error about a name that nothing defines."""
        return GTScriptSymbolError(self.place(node), name, f"Missing '{name}' symbol definition.")


def spelled(text: str, dtype: str) -> str:
    """Return the canonical spelling of a number: 2 as a float64 is '2.0'."""
    if dtype == "bool":
        return "True" if text in ("True", "1", "1.0") else "False"
    if dtype.startswith("int"):
        return respell(text if text.lstrip("+-").isdecimal() else str(int(float(text))), dtype)
    return respell(text, dtype)


def shown(node: ast.AST) -> str:
    """Return a piece of the text for a message, cut to one short line."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."
