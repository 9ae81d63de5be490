"""Read the types of typed temporaries: `float32`, `Field[IJ, np.float64]`, names of `dtypes`."""

from __future__ import annotations

import ast

from .. import Annotation, FieldOf, ScalarOf, path_of
from .evaluate import whole
from .scope import Scope, shown

NAMES = ("int32", "int64", "float32", "float64", "bool", "int8", "int16")


def type_of(scope: Scope, node: ast.expr, name: str, first: bool = False) -> Annotation:
    """Return the type that an annotation in the text gives.

    With `first` it stands before the blocks, where a field may have the axes I, J and K.
    """
    found = _type(scope, node)
    if found is None:
        raise scope.syntax_error(
            node, f"Failed to recognize type {shown(node)} for local symbol {name}."
        )
    axes = found.axes if isinstance(found, FieldOf) else "IJ"
    if axes != "IJ" and not (first and axes == "IJK"):
        raise scope.syntax_error(
            node, f"Typed temporaries must be IJ, temporaries for axes {axes} is not yet available."
        )
    return found


def _type(scope: Scope, node: ast.expr) -> Annotation | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return scope.tables.types.get(node.value)
    path = path_of(node)
    if path:
        return _named(scope, path)
    if isinstance(node, ast.Subscript) and path_of(node.value).rpartition(".")[2] == "Field":
        return _field(scope, node.slice)
    return None


def _named(scope: Scope, path: str) -> Annotation | None:
    definition = scope.tables.definition
    given = scope.tables.types.get(path)
    if given is not None:
        return given
    if path in ("int", "float"):
        return ScalarOf(definition.named_int if path == "int" else definition.named_float)
    if path in NAMES:
        return ScalarOf(path)
    found = scope.meaning(path)
    return found if isinstance(found, FieldOf | ScalarOf) else None


def _field(scope: Scope, node: ast.expr) -> FieldOf | None:
    axes, dtype = "IJK", node
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and path_of(node.elts[0]):
        axes, dtype = path_of(node.elts[0]).rpartition(".")[2], node.elts[1]
    sizes: tuple[int, ...] = ()
    if isinstance(dtype, ast.Tuple) and len(dtype.elts) == 2:
        dtype, given = dtype.elts
        items = given.elts if isinstance(given, ast.Tuple) else [given]
        known = [whole(scope, each) for each in items]
        sizes = tuple(each for each in known if each is not None and each > 0)
        if len(sizes) < len(known):
            return None
    found = _type(scope, dtype)
    if not isinstance(found, ScalarOf) or not set(axes) <= set("IJK"):
        return None
    return FieldOf(axes, found.dtype, sizes)
