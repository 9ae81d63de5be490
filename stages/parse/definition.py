"""Parse a `Definition` to its typed tree: header, body, result and the operators that it calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ...runtime.language import (
    SCALARS,
    CollectionType,
    Definition,
    Dimension,
    DimensionKind,
    FieldType,
    TupleType,
)
from ...runtime.language.operations import POINTWISE
from ...runtime.process import DSLError, FieldforgeError, classes
from ...runtime.process.sha256 import sha256
from ..artifacts import Spans
from ..ir import codec, syntax
from . import builtin_typing
from .programs import read_calls
from .scans import ScanAxisError, check_body, read_options
from .scope import Scope
from .signature import read_parameters, read_return
from .source import Source, read
from .statements import read_body

BUILTIN_NAMES: Final = frozenset(
    (*SCALARS, "int", "float", "tuple", "IndexType", *POINTWISE, *builtin_typing.OTHERS)
)


@classes.frozen(eq=False)
class Tree:
    """The typed tree of one definition; `callees` are the trees that it calls, in order."""

    root: syntax.Root
    key: str
    spans: Spans
    callees: tuple[Tree, ...]
    reach: _Reach

    @property
    def callee(self) -> syntax.Callee:
        """The tree as the callee of a call."""
        assert not isinstance(self.root, syntax.Program)
        return self.root


def parse_definition(definition: Definition, callees: Mapping[int, Tree]) -> Tree:
    """Parse one definition; `callees` are the trees that it reaches, keyed by identity."""
    try:
        return _parse(definition, callees)
    except FieldforgeError as error:
        chosen = ", ".join(f"{each.__name__} = {name}" for each, name in definition.types)
        types = f" for {chosen}" if chosen else ""
        error.add_note(f"While processing the definition of '{definition.name}'{types}.")
        raise
    except RecursionError:
        raise _too_deep(definition) from None


def _parse(definition: Definition, callees: Mapping[int, Tree]) -> Tree:
    source = read(definition)
    scope = _scope(source, definition, callees)
    _check_header(scope)
    scope.annotated = read_return(scope, definition)
    parameters = read_parameters(scope, definition)
    root = _root(scope, definition, parameters)
    by_key = {tree.key: tree for tree in callees.values()}
    called = tuple(by_key[key] for key in scope.called)
    reach = _reach_of(root, [tree.reach for tree in called])
    _check_axes(scope, definition.name, reach)
    return Tree(
        root, _key(root), Spans(source.span(source.function), tuple(scope.spans)), called, reach
    )


def _root(
    scope: Scope, definition: Definition, parameters: tuple[syntax.Parameter, ...]
) -> syntax.Root:
    statements, name = scope.source.function.body, definition.name
    if definition.kind == "program":
        calls = read_calls(scope, statements)
        return syntax.Program(name, parameters, tuple(scope.nodes), calls)
    options = read_options(scope, definition, parameters) if scope.scan else None
    body = read_body(scope, statements)
    result = scope.result
    assert result is not None  # `read_body` refuses a body that returns nothing
    if options is None:
        return syntax.Operator(name, parameters, tuple(scope.nodes), body, result)
    check_body(scope, name, parameters[0])
    return syntax.Scan(name, parameters, tuple(scope.nodes), body, result, *options)


def _key(root: syntax.Root) -> str:
    """Return the name under which callers refer to a tree: its name and its content."""
    digest = sha256(codec.encode(root))
    return f"{root.name}:{digest[:16]}"


def _scope(source: Source, definition: Definition, callees: Mapping[int, Tree]) -> Scope:
    code = definition.function.__code__  # lists the names that Python treats as local
    return Scope(
        source=source,
        closure=dict(definition.closure),
        operators={known: (tree.key, tree.callee) for known, tree in callees.items()},
        assigned=frozenset((*code.co_varnames, *code.co_cellvars)),
        variables={},
        scan=definition.kind == "scan_operator",
        variables_of={type_: variable.__name__ for variable, type_ in definition.types},
    )


def _check_axes(scope: Scope, name: str, reach: _Reach) -> None:
    if len(reach.axes) > 1:
        shown = ", ".join(sorted(f"'{axis.value}'" for axis in reach.axes))
        raise ScanAxisError(
            scope.source.name,
            f"The scans that '{name}' reaches walk along different axes: {shown}.",
            hints=["Scans of one program share one vertical axis."],
        )


def _check_header(scope: Scope) -> None:
    source = scope.source
    if source.function.name in BUILTIN_NAMES:
        raise DSLError(
            source.name,
            f"Name '{source.function.name}' is a reserved GT4Py builtin.",
            hints=["Give the function another name."],
        )


def _too_deep(definition: Definition) -> DSLError:
    text = definition.source
    span = text.span(1, 0, 1, max(len(text.text.partition("\n")[0]), 1))
    error = DSLError(span, f"Definition '{definition.name}' is nested too deeply to be read.")
    error.add_note(f"While processing the definition of '{definition.name}'.")
    return error


@classes.frozen
class _Reach:
    """Names of required and of optional neighbour tables; axes of scans; local dimensions."""

    needed: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    axes: frozenset[Dimension] = frozenset()
    unstructured: bool = False

    @property
    def tables(self) -> tuple[tuple[str, bool], ...]:
        """The tables sorted by name, each with whether it is required."""
        return tuple((name, name in self.needed) for name in sorted(self.needed | self.asked))


def _reach_of(root: syntax.Root, callees: Iterable[_Reach]) -> _Reach:
    """Return the reach of a root, given the reaches of its callees."""
    nodes = root.nodes
    below = list(callees)
    needed = {
        node.offset.name for node in nodes if isinstance(node, syntax.Neighbour | syntax.Neighbours)
    }
    asked = {node.dim.value for node in nodes if isinstance(node, syntax.Reduction)}
    axes = {root.axis} if isinstance(root, syntax.Scan) else set()
    types: set[Any] = {node.type for node in nodes} | {each.type for each in root.parameters}
    return _Reach(
        frozenset(needed).union(*(each.needed for each in below)),
        frozenset(asked).union(*(each.asked for each in below)),
        frozenset(axes).union(*(each.axes for each in below)),
        bool(needed) or any(each.unstructured for each in below) or _has_local(types),
    )


def _has_local(types: Iterable[Any]) -> bool:
    return any(dim.kind is DimensionKind.LOCAL for type_ in types for dim in _dims(type_))


def _dims(type_: Any) -> Iterator[Dimension]:
    waiting = [type_]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FieldType):
            yield from part.dims
        elif isinstance(part, TupleType | CollectionType):
            waiting += part.elements
