"""Walk and rewrite trees of the loop IR; what a child is follows from the values of fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from ....runtime.process import classes
from ..inside import inside
from .column import Column, If, Sweep, While
from .kernel import Choice, Kernel, Node, in_order, steps_of
from .nest import Access, Instruction, Nest, Row

T = TypeVar("T", bound=Node | Kernel)
N = TypeVar("N", bound=Node)
CODE: Final = (Nest, Column)


def children(node: Node | Kernel) -> Iterator[Node]:
    """Yield the nodes in the fields of a node, in order."""
    if isinstance(node, CODE):  # many rows, and no nodes
        return
    for part in inside(node):
        for each in part if isinstance(part, tuple) else (part,):
            if isinstance(each, Node):
                yield each


def rewrite(tree: T, rule: Callable[[Node], Node]) -> T:
    """Return a kernel, or a node, below which `rule` was applied to all nodes, children first."""
    changed = {}
    for field in classes.fields(type(tree)):
        old = getattr(tree, field.name)
        new = _rewritten(old, rule)
        if new is not old:
            changed[field.name] = new
    return classes.evolve(tree, **changed) if changed else tree


def _rewritten(value: Any, rule: Callable[[Node], Node]) -> Any:
    """Return a field of a node with the nodes in it rewritten."""
    if isinstance(value, Node):
        return rule(rewrite(value, rule))
    if isinstance(value, tuple) and value and isinstance(value[0], Node):
        new = tuple(_rewritten(each, rule) for each in value)
        return value if all(a is b for a, b in zip(value, new, strict=True)) else new
    return value


def with_nests(tree: T, change: Callable[[Nest], Nest]) -> T:
    """Return a kernel, or a node, with each nest changed, also where it stands twice."""
    return rewrite(tree, lambda node: change(node) if isinstance(node, Nest) else node)


def walk(node: Node | Kernel) -> Iterator[Node]:
    """Yield all nodes below a node and itself, parents first, `otherwise` before `then`."""
    if isinstance(node, Node):
        yield node
    below = list(children(node))
    for child in reversed(below) if isinstance(node, Choice) else below:
        yield from walk(child)


def nodes_of(node: Node | Kernel, kind: type[N]) -> Iterator[N]:
    """Yield the nodes of a kind below a node and itself, in the order of `walk`."""
    return (each for each in walk(node) if isinstance(each, kind))


def runs_of(node: Node, alike: Callable[[Node, Node], bool]) -> Iterator[tuple[Node, ...]]:
    """Yield the steps of a node in the longest runs that are all like their first."""
    steps = steps_of(node)
    first = 0
    for stop in range(1, len(steps) + 1):
        if stop == len(steps) or not alike(steps[first], steps[stop]):
            yield steps[first:stop]
            first = stop


def with_runs(
    kernel: Kernel,
    alike: Callable[[Node, Node], bool],
    change: Callable[[tuple[Node, ...]], Iterable[Node]],
) -> Kernel:
    """Return a kernel with each longest run of steps that are like their first changed."""
    steps = []
    for step in kernel.steps:
        nodes = (node for run in runs_of(step.body, alike) for node in change(run))
        steps.append(classes.evolve(step, body=in_order(*nodes)))
    return classes.evolve(kernel, steps=tuple(steps))


def nests_of(node: Node | Kernel) -> tuple[Nest, ...]:
    """Return the nests below a node, each once, in the order of `walk`."""
    return tuple(dict.fromkeys(nodes_of(node, Nest)))


def code_of(node: Node | Kernel) -> tuple[Nest | Column, ...]:
    """Return the nests and columns below a node, each once, in the order of `walk`."""
    return tuple(dict.fromkeys(each for each in walk(node) if isinstance(each, CODE)))


def instructions(node: Nest | Column) -> Iterator[Instruction]:
    """Yield the rows of a nest or a column in order."""
    if isinstance(node, Nest):
        yield from node.body
        return
    pending: list[Any] = list(reversed(node.acts))
    while pending:
        act = pending.pop()
        match act:
            case Sweep(acts=inner):
                pending += reversed(inner)
            case If(then=then, otherwise=otherwise):
                pending += reversed((*then, *otherwise))
            case While(condition=condition, acts=inner):
                pending += reversed((*condition, *inner))
            case _:
                yield act


def reached(rows: Iterable[Row], follow: Callable[[Row], Iterable[Row]]) -> set[Row]:
    """Return rows and all those that `follow` leads to, such as the operands of a row."""
    found: set[Row] = set()
    waiting = list(rows)
    while waiting:
        row = waiting.pop()
        if row not in found:
            found.add(row)
            waiting.extend(follow(row))
    return found


def bodies(node: Node | Kernel) -> Iterator[tuple[int, Sequence[Instruction]]]:
    """Yield the group and the rows of each nest and column below a node."""
    for each in walk(node):
        if isinstance(each, Nest):
            yield each.group, each.body
        elif isinstance(each, Column):
            yield each.group, tuple(instructions(each))


def accesses(node: Node | Kernel, kind: type[Access]) -> Iterator[Access]:
    """Yield the accesses of a kind below a node: `Load`, `Store`, or `Access` for both."""
    for _, rows in bodies(node):
        yield from (row for row in rows if isinstance(row, kind))


def touches(node: Node | Kernel) -> Counter[str]:
    """Return by buffer how many rows below a node load or store it."""
    return Counter(row.buffer for row in accesses(node, Access))


def arrays_of(node: Node | Kernel, kind: type[Access] = Access) -> set[str]:
    """Return the names of the buffers that are accessed below a node, or only loaded or stored."""
    return {row.buffer for row in accesses(node, kind)}
