"""The meanings of expressions during parsing: rows of the table, and static values."""

from __future__ import annotations

import ast
from typing import Any, TypeAlias

from ...runtime.language import CollectionType, Definition, Dimension, OffsetType, ScalarType
from ...runtime.process import classes
from .promotion import RowType


@classes.frozen
class Row:
    """A value at run time: row `ref` of the table."""

    ref: int
    type: RowType


@classes.frozen
class Number:
    """A number known during parsing; it becomes a literal row at its first use as a value.

    `written` tells that the number is a literal in the source of the function.
    """

    value: Any
    written: bool = False


@classes.frozen
class Pack:
    """A tuple whose elements have meanings of their own; `nodes` are their places in the source.

    A constant of a named collection has its `type`.
    """

    elements: tuple[Meaning, ...]
    nodes: tuple[ast.expr, ...]
    type: CollectionType | None = None


@classes.frozen
class Text:
    """A string literal."""

    value: str


@classes.frozen
class Axis:
    """A dimension."""

    dim: Dimension


@classes.frozen
class Displacement:
    """A Cartesian offset `I + 1`: it moves a field from `dim` onto `onto`, usually the same."""

    dim: Dimension
    offset: int
    onto: Dimension


@classes.frozen
class DataOffset:
    """`as_offset(Koff, by)`: an offset along `dim` whose distance is row `by`."""

    dim: Dimension
    by: Row


@classes.frozen
class NeighbourTag:
    """`E2C[0]`: one neighbour of a table."""

    type: OffsetType
    index: int


@classes.frozen
class IndexOf:
    """`E2CDim(0)`: an index along a dimension."""

    dim: Dimension
    index: int


@classes.frozen
class OffsetTag:
    """A `FieldOffset`."""

    type: OffsetType


@classes.frozen
class ScalarName:
    """A type constructor: a NumPy scalar type, `float`, `int` or `bool`."""

    name: str
    type: ScalarType
    constructor: Any = classes.field(repr=False)


@classes.frozen
class CollectionName:
    """The class of a named collection."""

    type: CollectionType


@classes.frozen
class Builtin:
    """A function of the language, such as `where`."""

    name: str


@classes.frozen(eq=False)
class OperatorName:
    """A decorated function; `path` is how the closure reaches it."""

    path: str
    definition: Definition


@classes.frozen(eq=False)
class Namespace:
    """A module, an enum class or a namespace of constants; `path` is how the closure reaches it."""

    path: str
    members: Any


Meaning: TypeAlias = (
    Row
    | Number
    | Pack
    | Text
    | Axis
    | Displacement
    | DataOffset
    | NeighbourTag
    | IndexOf
    | OffsetTag
    | ScalarName
    | CollectionName
    | Builtin
    | OperatorName
    | Namespace
)


def describe(meaning: Meaning) -> str:
    """Name a meaning for an error message.

    >>> describe(Builtin("where"))
    "builtin 'where'"
    """
    match meaning:
        case Row():
            return f"a value of type '{meaning.type}'"
        case Number():
            return f"the number '{meaning.value}'"
        case Pack():
            return "a tuple" if meaning.type is None else f"a constant of '{meaning.type.name}'"
        case Text():
            return "a string"
        case ScalarName():
            return f"type '{meaning.name}'"
        case CollectionName():
            return f"class '{meaning.type.name}'"
        case Builtin():
            return f"builtin '{meaning.name}'"
        case OperatorName():
            return f"{meaning.definition.kind.replace('_', ' ')} '{meaning.definition.name}'"
        case Namespace():
            return f"namespace '{meaning.path}'"
    return _describe_index(meaning)


def _describe_index(
    meaning: Axis | Displacement | DataOffset | NeighbourTag | IndexOf | OffsetTag,
) -> str:
    match meaning:
        case Axis():
            return f"dimension '{meaning.dim.value}'"
        case NeighbourTag():
            return f"the offset '{meaning.type.name}[{meaning.index}]'"
        case IndexOf():
            return f"the index '{meaning.dim.value}({meaning.index})'"
        case OffsetTag():
            return f"offset '{meaning.type.name}'"
    return f"an offset along '{meaning.dim.value}'"
