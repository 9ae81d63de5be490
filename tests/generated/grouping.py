"""Put values of a drawn program into named collections: parameters, results, arguments.

What a program reads and writes stays the same, so nothing else of a case changes.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

import attrs

from .calls import Operator
from .case import Case, Group
from .pieces import DTYPES, Draw, Kind

CHANCE: Final = 25  # percent


def with_collections(d: Draw, case: Case, operators: Sequence[Operator]) -> Case:
    """Return the case with some named collections."""
    tree = ast.parse(case.text)
    classes: list[str] = []
    for operator in operators:
        function = _function(tree, operator.name)
        if operator.text.startswith("@scan_operator"):
            if _is_flat(operator) and d.chance(CHANCE):
                classes.append(_join_state(d, tree, function, operator))
            continue
        if d.chance(CHANCE):
            classes += _with_constants(d, function)
        if len(operator.parameters) > 1 and d.chance(CHANCE):
            classes.append(_join_parameters(d, tree, function, operator))
        if _is_flat(operator) and d.chance(CHANCE):
            classes.append(_join_results(d, tree, function, operator))
    groups = [*_whole_arguments(d, tree, case, classes)]
    if d.chance(CHANCE):
        groups += _join_fields(d, tree, case, groups, classes)
    if not classes:
        return case
    text = "\n\n\n".join([*classes, ast.unparse(tree)]) + "\n"
    inside = {name: group.name for group in groups for name in group.members}
    order = tuple(dict.fromkeys(inside.get(name, name) for name in case.order))
    return attrs.evolve(case, text=text, groups=tuple(groups), order=order)


def _function(tree: ast.Module, name: str) -> ast.FunctionDef:
    return next(
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name
    )


def _class(name: str, elements: Sequence[tuple[str, str]]) -> str:
    lines = [f"    {key}: {kind}" for key, kind in elements]
    return "\n".join([f"class {name}(NamedTuple):", *lines])


def _named(text: str) -> ast.expr:
    found = ast.parse(text, mode="eval").body
    assert isinstance(found, ast.expr)
    return found


class _Replaced(ast.NodeTransformer):
    """Writes expressions in the place of names."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _named(self.names[node.id]) if node.id in self.names else node


def _calls(tree: ast.AST, name: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


# --- operators --------------------------------------------------------------------------------


def _join_parameters(
    d: Draw, tree: ast.Module, function: ast.FunctionDef, operator: Operator
) -> str:
    """Make one parameter of two or three that stand side by side; return the class."""
    first = d.below(len(operator.parameters) - 1)
    joined = operator.parameters[first : first + d.pick((2, 3))]
    keys = [each.name for each in joined]
    kind, name = f"P{operator.name[2:]}", "b0"
    function.args.args[first : first + len(joined)] = [ast.arg(name, ast.Name(kind))]
    for place, statement in enumerate(function.body):
        replaced = _Replaced({key: f"{name}.{key}" for key in keys}).visit(statement)
        function.body[place] = replaced
    for call in _calls(tree, operator.name):
        if call.args:
            inner = call.args[first : first + len(joined)]
            call.args[first : first + len(joined)] = [ast.Call(ast.Name(kind), inner, [])]
            continue
        within = [each for each in call.keywords if each.arg in keys]
        rest = [each for each in call.keywords if each.arg not in keys]
        call.keywords = [ast.keyword(name, ast.Call(ast.Name(kind), [], within)), *rest]
    return _class(kind, [(each.name, str(each.type)) for each in joined])


def _with_constants(d: Draw, function: ast.FunctionDef) -> list[str]:
    """Put a number or two of an operator into a constant; return its class and the constant."""
    found = [
        (parent, field, value)
        for statement in function.body
        for parent in ast.walk(statement)
        for field, value in ast.iter_fields(parent)
        if isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in DTYPES
        and isinstance(value.args[0], ast.Constant | ast.UnaryOp)
    ]
    if not found:
        return []
    name = f"c{function.name[2:]}"
    taken = {id(value): (parent, field, value) for parent, field, value in found[: d.pick((1, 2))]}
    elements, numbers = [], []
    for index, (parent, field, value) in enumerate(taken.values()):
        dtype = value.func.id  # type: ignore[union-attr]  # a name, as was seen
        inner = value.args[0]
        is_plain = "float" in dtype and not isinstance(getattr(inner, "value", 0), str)
        numbers.append(ast.unparse(inner if is_plain and d.chance(50) else value))
        elements.append((f"v{index}", dtype))
        setattr(parent, field, _named(f"{name}.v{index}" if d.chance(70) else f"{name}[{index}]"))
    kind = name.upper()
    return [_class(kind, elements), f"{name} = {kind}({', '.join(numbers)})"]


def _join_state(d: Draw, tree: ast.Module, function: ast.FunctionDef, operator: Operator) -> str:
    """Make the state of a scan a collection of numbers; return the class."""
    text = _join_results(d, tree, function, operator)
    kind = text.split("(")[0].split()[1]
    keys = _keys(text)
    function.returns = function.args.args[0].annotation = ast.Name(kind)
    scan = function.decorator_list[0]
    assert isinstance(scan, ast.Call)
    init = next(each for each in scan.keywords if each.arg == "init")
    assert isinstance(init.value, ast.Tuple)
    init.value = ast.Call(ast.Name(kind), init.value.elts, [])
    for node in ast.walk(function):
        for field, value in ast.iter_fields(node):
            match value:
                case ast.Subscript(ast.Name("state") as state, ast.Constant(index)):
                    if d.chance(60):
                        setattr(node, field, ast.Attribute(state, keys[index]))
    return _class(
        kind, [(key, leaf.dtype) for key, leaf in zip(keys, operator.result, strict=True)]
    )


def _is_flat(operator: Operator) -> bool:
    return isinstance(operator.result, tuple) and all(
        isinstance(each, Kind) for each in operator.result
    )


def _join_results(d: Draw, tree: ast.Module, function: ast.FunctionDef, operator: Operator) -> str:
    """Return a collection instead of a tuple; return the class."""
    kind = f"R{operator.name[2:]}"
    keys = [f"x{index}" for index in range(len(operator.result))]
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            elements = node.value.elts
            node.value = ast.Call(ast.Name(kind), elements, [])
            if d.chance(50):
                named = [ast.keyword(*pair) for pair in zip(keys, elements, strict=True)]
                node.value = ast.Call(ast.Name(kind), [], named)
    calls = _calls(tree, operator.name)
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            is_element = isinstance(value, ast.Subscript) and value.value in calls
            if is_element and isinstance(value.slice, ast.Constant) and d.chance(60):
                setattr(node, field, ast.Attribute(value.value, keys[value.slice.value]))
            elif isinstance(value, list):
                value[:] = [_element(each, calls, keys) for each in value]
    return _class(kind, list(zip(keys, map(str, operator.result), strict=True)))


def _element(node: ast.AST, calls: Sequence[ast.Call], keys: Sequence[str]) -> ast.AST:
    match node:
        case ast.Subscript(ast.Call() as call, ast.Constant(index)) if call in calls:
            return ast.Attribute(call, keys[index])
    return node


# --- the program ------------------------------------------------------------------------------


def _whole_arguments(d: Draw, tree: ast.Module, case: Case, classes: Sequence[str]) -> list[Group]:
    """Let parameters of the program be collections that it passes on whole."""
    function = _function(tree, "program_under_test")
    kinds = {each.arg: ast.unparse(each.annotation) for each in function.args.args}  # type: ignore[arg-type]  # all have one
    groups: list[Group] = []
    for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
        for place in [*range(len(call.args)), *(each.arg for each in call.keywords)]:
            made = _argument(call, place)
            text = next((each for each in classes if _builds(made, each)), None)
            if text is None or not d.chance(60):
                continue
            assert isinstance(made, ast.Call)
            given = [*made.args, *(each.value for each in made.keywords)]
            members = tuple(each.id for each in given if isinstance(each, ast.Name))
            taken = {name for group in groups for name in group.members}
            declared = [ast.unparse(each.annotation) for each in ast.parse(text).body[0].body]  # type: ignore[attr-defined]  # a class
            fits = [kinds.get(name) for name in members] == declared
            if not fits or len(set(members)) < len(given) or taken & set(members):
                continue
            group = Group(f"g{len(groups)}", text.split("(")[0].split()[1], members, _keys(text))
            groups.append(group)
            _put_argument(call, place, ast.Name(group.name))
            _bundle(function, group)
    return groups


def _builds(node: ast.AST | None, text: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and text.startswith(f"class {node.func.id}(")
    )


def _argument(call: ast.Call, place: int | str | None) -> ast.AST:
    if isinstance(place, int):
        return call.args[place]
    return next(each.value for each in call.keywords if each.arg == place)


def _put_argument(call: ast.Call, place: int | str | None, value: ast.expr) -> None:
    if isinstance(place, int):
        call.args[place] = value
    else:
        next(each for each in call.keywords if each.arg == place).value = value


def _keys(text: str) -> tuple[str, ...]:
    return tuple(line.split(":")[0].strip() for line in text.splitlines()[1:])


def _join_fields(
    d: Draw, tree: ast.Module, case: Case, groups: Sequence[Group], classes: list[str]
) -> list[Group]:
    """Put two or three parameters of the program into a collection that operators do not know."""
    taken = {name for group in groups for name in group.members}
    free = [spec for spec in case.fields if spec.name not in taken]
    if len(free) < 2:
        return []
    first = d.below(len(free) - 1)
    joined = free[first : first + d.pick((2, 3))]
    keys = tuple(f"k{index}" for index in range(len(joined)))
    classes.append(_class("G", [(k, str(s.kind)) for k, s in zip(keys, joined, strict=True)]))
    group = Group(f"g{len(groups)}", "G", tuple(spec.name for spec in joined), keys)
    _bundle(_function(tree, "program_under_test"), group)
    return [group]


def _bundle(function: ast.FunctionDef, group: Group) -> None:
    """Replace parameters of the program by one collection of them."""
    arguments = function.args.args
    place = min(i for i, each in enumerate(arguments) if each.arg in group.members)
    arguments.insert(place, ast.arg(group.name, ast.Name(group.kind)))
    function.args.args = [each for each in arguments if each.arg not in group.members]
    paths = {
        name: f"{group.name}.{key}" for name, key in zip(group.members, group.keys, strict=True)
    }
    for index, statement in enumerate(function.body):
        function.body[index] = _Replaced(paths).visit(statement)
