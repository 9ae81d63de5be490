"""Make a failing case small: cut pieces out of its text while it still fails in the same way.

Candidates are tried in batches, because a batch costs one run of the compiler. What is no longer
a program of the language fails in another way, so nothing here needs to know about types.
"""

import ast
import copy
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs

from .case import Case

Fails: TypeAlias = Callable[[Sequence[Case]], list[Case]]  # those of the cases that fail

BATCH: Final = 24


def shrink(case: Case, fails: Fails, seconds: float) -> Case:
    """Return the smallest case found in that time that still fails."""
    deadline = time.monotonic() + seconds
    best, seen = case, {_identity(case)}
    place = 0
    while time.monotonic() < deadline:
        limit = _size(best)
        candidates = [
            found
            for found in _smaller(best)
            if _identity(found) not in seen and _size(found) < limit
        ]
        candidates = candidates[place:] + candidates[:place]  # go on where the last one was found
        for start in range(0, len(candidates), BATCH):
            batch = candidates[start : start + BATCH]
            seen.update(map(_identity, batch))
            failing = fails(batch)
            if failing:
                best = min(failing, key=_size)
                place += start
                break
            if time.monotonic() > deadline:
                return best
        else:
            return best
        place = place % max(len(candidates), 1)
    return best


def _size(case: Case) -> tuple[int, int]:
    odd = sum(spec.layout != "default" for spec in case.fields)
    return len(case.text) + 4 * len(case.fields), odd * 8 + case.percent


def _identity(case: Case) -> object:
    return case.text, tuple(spec.layout for spec in case.fields), case.percent


def _smaller(case: Case) -> Iterator[Case]:
    """Yield cases with a piece of the text cut out, and with plainer data."""
    tree = ast.parse(case.text)
    for change in _changes(tree):
        changed = copy.deepcopy(tree)
        change(changed)
        yield _without_unused(attrs.evolve(case, text=ast.unparse(changed) + "\n"))
    for index, spec in enumerate(case.fields):
        if spec.layout != "default":
            plain = attrs.evolve(spec, layout="default")
            fields = (*case.fields[:index], plain, *case.fields[index + 1 :])
            yield attrs.evolve(case, fields=fields)
    if case.percent:
        yield attrs.evolve(case, percent=0)


def _changes(tree: ast.Module) -> Iterator[Callable[[ast.Module], None]]:
    """Yield changes to a copy of the tree; nodes are found again by their number."""
    functions = [
        (index, node) for index, node in enumerate(tree.body) if isinstance(node, ast.FunctionDef)
    ]
    for index in range(len(tree.body) - 1):
        yield lambda copied, index=index: copied.body.pop(index)
    for index, function in functions:
        yield from _statement_changes(index, function)
        yield from _parameter_changes(index, function)
        yield from _result_changes(index, function)
    nodes = list(ast.walk(tree))
    for number, node in enumerate(nodes):
        for child in _children(node):
            inner = nodes.index(child)
            yield lambda copied, number=number, inner=inner: _replace(copied, number, inner)


def _statement_changes(
    index: int, function: ast.FunctionDef
) -> Iterator[Callable[[ast.Module], None]]:
    for place, statement in enumerate(function.body):
        if len(function.body) > 1:
            yield lambda copied, place=place: copied.body[index].body.pop(place)
        if isinstance(statement, ast.If):

            def flat(copied: Any, place: int = place) -> None:
                body = copied.body[index].body
                body[place : place + 1] = body[place].body

            yield flat


def _parameter_changes(
    index: int, function: ast.FunctionDef
) -> Iterator[Callable[[ast.Module], None]]:
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    first = 1 if function.args.args and function.args.args[0].arg == "state" else 0
    for place, argument in enumerate(function.args.args[first:], start=first):
        if argument.arg not in used and function.name.startswith("op"):

            def without(copied: Any, place: int = place, name: str = argument.arg) -> None:
                copied.body[index].args.args.pop(place)
                for call in _calls(copied, function.name):
                    if len(call.args) > place - first:
                        call.args.pop(place - first)
                    call.keywords = [each for each in call.keywords if each.arg != name]

            yield without


def _result_changes(
    index: int, function: ast.FunctionDef
) -> Iterator[Callable[[ast.Module], None]]:
    """Return one element of a tuple only, and write only that."""
    last = function.body[-1]
    if not (isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)):
        return
    for element in range(len(last.value.elts)):

        def only(copied: Any, element: int = element) -> None:
            result = copied.body[index].body[-1]
            result.value = result.value.elts[element]
            for call in _calls(copied, function.name):
                for keyword in call.keywords:
                    if keyword.arg in ("out", "domain") and isinstance(keyword.value, ast.Tuple):
                        keyword.value = keyword.value.elts[element]
            for node in ast.walk(copied):
                for child in ast.iter_child_nodes(node):
                    if (
                        isinstance(child, ast.Subscript)
                        and isinstance(child.value, ast.Call)
                        and getattr(child.value.func, "id", "") == function.name
                    ):
                        _put(node, child, child.value)

        yield only


def _calls(tree: ast.AST, name: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
    ]


def _children(node: ast.AST) -> list[ast.expr]:
    """Return the operands that may stand for an expression."""
    match node:
        case ast.BinOp(left, _, right):
            return [left, right]
        case ast.UnaryOp(_, operand):
            return [operand]
        case ast.Compare(left, _, comparators):
            return [left, *comparators]
        case ast.IfExp(test, body, orelse):
            return [body, orelse, test]
        case ast.Call(func, args, keywords):
            inner = [func] if not isinstance(func, ast.Name) else []
            return inner + args + [keyword.value for keyword in keywords]
        case ast.Subscript(value, _) if not isinstance(value, ast.Name):
            return [value]
    return []


def _replace(tree: ast.Module, number: int, inner: int) -> None:
    nodes = list(ast.walk(tree))
    old, new = nodes[number], nodes[inner]
    for parent in nodes:
        if _put(parent, old, new):
            return


def _put(parent: ast.AST, old: ast.AST, new: ast.AST) -> bool:
    for field, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, field, new)
            return True
        if isinstance(value, list) and any(each is old for each in value):
            value[:] = [new if each is old else each for each in value]
            return True
    return False


def _without_unused(case: Case) -> Case:
    """Drop the program's parameters that its body does not mention."""
    tree = ast.parse(case.text)
    function = next(
        (node for node in tree.body if getattr(node, "name", "") == "program_under_test"), None
    )
    if function is None:
        return case
    assert isinstance(function, ast.FunctionDef)
    used = {
        node.id for line in function.body for node in ast.walk(line) if isinstance(node, ast.Name)
    }
    members = {name: group.members for group in case.groups for name in [group.name]}
    leaves = used | {leaf for name in used for leaf in members.get(name, ())}
    function.args.args = [each for each in function.args.args if each.arg in used]
    return attrs.evolve(
        case,
        text=ast.unparse(tree) + "\n",
        fields=tuple(spec for spec in case.fields if spec.name in leaves),
        scalars=tuple(row for row in case.scalars if row[0] in leaves),
        groups=tuple(group for group in case.groups if group.name in used),
        order=tuple(name for name in case.order if name in used),
    )
