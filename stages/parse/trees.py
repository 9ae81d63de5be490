"""Cache the typed trees of definitions: parse each once in a process, callees first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from weakref import WeakKeyDictionary

from ...runtime.language import Definition, FieldType, OperatorType, leaves, type_from_annotation
from ..artifacts import Parsed, Spans
from ..ir import syntax
from .definition import Tree, parse_definition
from .free_names import callees_first, callees_of
from .summary import Summary

# Definitions are values that find their callees through decorated objects, so a tree stays valid
# until a name is rebound: see `forget_trees`.
_trees: WeakKeyDictionary[Definition, Tree] = WeakKeyDictionary()


def forget_trees() -> None:
    """Drop all trees, because a name was rebound."""
    _trees.clear()


def parse_all(definition: Definition) -> Mapping[str, Parsed | Spans]:
    """Return the tree and the spans of a definition and of its callees."""
    tree = tree_of(definition)
    reached: dict[str, Tree] = {}
    waiting = list(tree.callees)
    while waiting:
        each = waiting.pop()
        if each.key not in reached:
            reached[each.key] = each
            waiting += each.callees
    operators = tuple((key, reached[key].callee) for key in sorted(reached))
    return {"parsed": Parsed(tree.root, operators), "spans": tree.spans}


def summary_of(definition: Definition) -> Summary:
    """Return the summary of a definition."""
    if definition.origin is not None:
        return _of_derivative(definition, definition.origin)
    tree = tree_of(definition)
    root = tree.root
    parameters = tuple((each.name, each.type) for each in root.parameters)
    result = None if isinstance(root, syntax.Program) else root.result
    signature = OperatorType(definition.kind, parameters, result)
    outputs = tuple(_written_together(root)) if isinstance(root, syntax.Program) else ()
    return Summary(signature, tree.reach.tables, tree.reach.unstructured, outputs)


def _of_derivative(definition: Definition, origin: Definition) -> Summary:
    """Return the summary of a derivative; any of its fields may have the same ranges."""
    found = summary_of(origin)
    closure = dict(definition.closure)
    parameters = tuple(
        (name, type_from_annotation(annotation, closure))
        for name, annotation in definition.annotations
    )
    signature = OperatorType(definition.kind, parameters, None)
    fields = tuple(
        ".".join([name, *map(str, path)])
        for name, type_ in parameters
        for path, leaf in leaves(type_)
        if isinstance(leaf, FieldType)
    )
    tables = (*found.tables, *_transposed(found.tables)) if found.tables else ()
    return Summary(signature, tables, found.unstructured, (fields,))


def _transposed(tables: Iterable[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    from ...runtime.meshes.transposed_tables import transposed_names  # grids have none

    yield from ((each, False) for each in transposed_names(name for name, _ in tables))


def _written_together(program: syntax.Program) -> Iterator[tuple[str, ...]]:
    """Yield for each statement the leaves that it writes without a domain, if there are several."""
    for statement in program.body:
        names = [
            ".".join([output.parameter, *map(str, output.path)])
            for output in statement.outputs
            if not output.domain
        ]
        if len(names) > 1:
            yield tuple(names)


def tree_of(definition: Definition) -> Tree:
    """Return the tree of a definition, parsed after its callees."""
    for each in callees_first(definition, _trees.__contains__):
        found = {id(callee): _trees[callee] for callee in callees_of(each) if callee in _trees}
        _trees[each] = parse_definition(each, found)
    return _trees[definition]
