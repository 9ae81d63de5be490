"""Read assignments, and declare temporaries at their first one."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...ir.stencil import Assign, Ref, Variable
from ...parse.source import Located
from .. import definition as given, path_of
from . import expressions
from .accesses import integer
from .data_axes import access_of, index_of
from .offsets import level_of, offset_of
from .scope import Binding, Elements, Part, Scope
from .types import type_of
from .typing import cast, operation


def read_assign(scope: Scope, node: ast.Assign) -> None:
    """Read `target = value`; tuples are assigned element by element."""
    if len(node.targets) > 1:
        raise scope.syntax_error(
            node, "Assignment to multiple variables (e.g. var1 = var2 = value) not supported."
        )
    (target,) = node.targets
    if not isinstance(target, ast.Tuple):
        assign_value(scope, target, node.value, node)
        return
    values = _elements(scope, node, len(target.elts))
    for each, value in zip(target.elts, values, strict=True):
        if isinstance(value, int):
            store(scope, each, value, node)
        else:
            assign_value(scope, each, value, node)


def assign_value(scope: Scope, target: ast.expr, value: ast.expr, node: Located) -> None:
    """Assign an expression; to a whole vector element by element, one statement after another."""
    found = scope.meaning(path_of(_base(target)) or "?")
    if not isinstance(found, Elements) or _index(target) is not None:
        store(scope, target, expressions.read(scope, value), node)
        return
    moved = _moved(scope, target, found.whole)
    outer = scope.part
    for place in found.places:
        scope.part = Part(found.sizes, place)
        row = expressions.read(scope, value)
        scope.part = outer
        add_assign(scope, found.at(place), row, node, *moved)


def _elements(scope: Scope, node: ast.Assign, count: int) -> Sequence[ast.expr | Ref]:
    if isinstance(node.value, ast.Call):
        name = path_of(node.value.func)
        found = scope.meaning(name) if name else None
        if isinstance(found, given.FunctionDefinition):
            return scope.inline(scope, node.value, found, count)
    if isinstance(node.value, ast.Tuple) and len(node.value.elts) == count:
        return node.value.elts
    raise scope.syntax_error(
        node, "Number of returns values does not match arguments on left side."
    )


def read_annotated(scope: Scope, node: ast.AnnAssign) -> None:
    """Read `target: type = value`."""
    if not isinstance(node.target, ast.Name):
        raise scope.syntax_error(
            node, "Cannot annotate a temporary Field with offset write. Define first."
        )
    if node.value is None:
        raise scope.syntax_error(node, "A typed temporary needs a value.")
    name = node.target.id
    type_ = type_of(scope, node.annotation, name)
    if isinstance(type_, given.FieldOf) and type_.data_dims:
        if scope.meaning(name) is None:
            declare_elements(scope, name, type_)
        assign_value(scope, node.target, node.value, node)
        return
    row = expressions.read(scope, node.value)
    if scope.meaning(name) is None:
        axes = type_.axes if isinstance(type_, given.FieldOf) else "IJK"
        declare(scope, name, type_.dtype, axes)
    store(scope, node.target, row, node)


def declare(scope: Scope, name: str, dtype: str, axes: str) -> int:
    """Declare a temporary."""
    tables = scope.tables
    variable = tables.declare(Variable(f"{name}{scope.suffix}", "temporary", dtype, axes))
    tables.first_block[variable] = len(tables.blocks)
    scope.names[name] = variable
    return variable


def declare_elements(scope: Scope, name: str, type_: given.FieldOf) -> Elements:
    """Declare a temporary with data axes."""
    tables = scope.tables
    whole = Variable(f"{name}{scope.suffix}", "temporary", type_.dtype, type_.axes)
    made = tables.elements(whole, type_.data_dims)
    tables.first_block |= dict.fromkeys(made.variables, len(tables.blocks))
    scope.names[name] = made
    return made


def store(scope: Scope, target: ast.expr, value: Ref, node: Located) -> None:
    """Assign a value to a target: a name, with offsets, with an index of its data axes."""
    base = _base(target)
    if not isinstance(base, ast.Name):
        raise scope.syntax_error(target, "Invalid target in assignment.")
    name = base.id
    found = scope.meaning(name)
    if isinstance(found, Elements):
        _store_element(scope, target, found, value, node)
        return
    if found is None:
        found = declare(scope, name, scope.dtype(value), "IJK")
    if not isinstance(found, int):
        raise scope.syntax_error(target, f"Cannot assign to '{name}': it is a constant.")
    variable = scope.tables.variables[found]
    if variable.kind == "table":
        raise scope.syntax_error(
            target, "writing to an GlobalTable ('A' global indexation) is forbidden"
        )
    add_assign(scope, found, value, node, *_moved(scope, target, variable))


def _base(target: ast.expr) -> ast.expr:
    return access_of(target).base if isinstance(target, ast.Subscript) else target


def _index(target: ast.expr) -> tuple[ast.expr, ...] | None:
    return access_of(target).index if isinstance(target, ast.Subscript) else None


def _moved(scope: Scope, target: ast.expr, variable: Variable) -> tuple[int, Ref | None]:
    """Check that a variable can be assigned in this order; return how many levels further.

    The number may be a row.
    """
    _check_target(scope, target, variable)
    if not isinstance(target, ast.Subscript):
        return 0, None
    offsets = access_of(target).offsets
    if offsets is None:
        raise scope.syntax_error(
            target, "writing to an GlobalTable ('A' global indexation) is forbidden"
        )
    return _offset(scope, offsets, variable)


def _store_element(
    scope: Scope, target: ast.expr, elements: Elements, value: Ref, node: Located
) -> None:
    """Assign to the element that an index names, which only the call may know."""
    moved = _moved(scope, target, elements.whole)
    if not isinstance(target, ast.Subscript) or _index(target) is None:
        for variable in elements.variables:
            add_assign(scope, variable, value, node, *moved)
        return
    access, name = access_of(target), elements.whole.name
    known, rows = index_of(scope, access, name, elements.sizes, expressions.read)
    draft = scope.draft
    outer, was_inside = draft.mask, draft.is_inside
    draft.is_inside = True
    for place in elements.places:
        if any(at not in (None, index) for at, index in zip(known, place, strict=True)):
            continue
        draft.mask = outer
        for at, row, index in zip(known, rows, place, strict=True):
            if at is None:
                number = scope.number(scope.dtype(row), str(index), node)
                test = operation(scope, "eq", (row, number), node)
                scope.tables.choices.add(test)
                draft.mask = expressions.mask_of(scope, draft.mask, test, node)
        add_assign(scope, elements.at(place), value, node, *moved)
    draft.mask, draft.is_inside = outer, was_inside
    draft.statement += not was_inside


def assign(scope: Scope, name: str, value: Ref, node: Located, names: dict[str, Binding]) -> int:
    """Assign a value to a new temporary of the reader's own."""
    tables = scope.tables
    made = Variable(f"{name}{scope.suffix}", "temporary", scope.dtype(value), "IJK")
    variable = tables.declare(made)
    tables.first_block[variable] = len(tables.blocks)
    names[name] = variable
    add_assign(scope, variable, value, node)
    return variable


def add_assign(
    scope: Scope,
    variable: int,
    value: Ref,
    node: Located,
    offset: int = 0,
    level: Ref | None = None,
) -> None:
    """Add an assignment under the mask and in the region of the statement."""
    draft, place = scope.draft, scope.place(node)
    if offset and draft.is_of_call:
        offset, level = 0, scope.number("int64", str(offset), node)
    made = cast(scope, value, scope.tables.variables[variable].dtype, node)
    draft.body.append(
        Assign(
            variable, made, draft.statement, draft.mask, draft.region, offset, level, draft.loops
        )
    )
    draft.wheres.append(place)
    draft.statement += not draft.is_inside  # the parts of an `if` are one statement
    if draft.region is None:
        scope.tables.written.add(variable)


def _check_target(scope: Scope, target: ast.expr, variable: Variable) -> None:
    if variable.kind == "scalar":
        raise scope.syntax_error(target, f"Cannot assign to scalar '{variable.name}'.")
    needed = "IJK" if scope.draft.order == "parallel" else "IJ"
    if not set(needed) <= set(variable.axes):
        raise scope.syntax_error(
            target,
            f"Cannot assign to field '{variable.name}' as all parallel axes "
            f"'{list(needed)}' are not present.",
            "Assign it in FORWARD or BACKWARD." if set("IJ") <= set(variable.axes) else
            "Declare it with the axes I, J and K.",
        )  # fmt: skip


def _offset(scope: Scope, target: ast.Subscript, variable: Variable) -> tuple[int, Ref | None]:
    i, j, k = offset_of(scope, target, variable)
    level = level_of(scope, target, variable)
    if i or j:
        raise scope.syntax_error(target, "Assignment to non-zero offsets is not supported in IJ.")
    if (k or level) and scope.draft.order == "parallel":
        raise scope.syntax_error(
            target,
            "Assignment to non-zero offsets in K is not available in PARALLEL. "
            "Choose FORWARD or BACKWARD.",
        )
    if level is None:
        return k, None
    return 0, integer(scope, level, "Variable vertical index", expressions.read)


def read_augmented(scope: Scope, node: ast.AugAssign) -> None:
    """Read `target op= value`."""
    left = ast.copy_location(ast.BinOp(_as_read(node.target), node.op, node.value), node)
    assign_value(scope, node.target, left, node)


def _as_read(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return target
