"""The callees of a program, each once and before its callers, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...runtime.process import WorkflowError, classes
from ...stages.base import Stage
from .handle import Handle, given


@classes.frozen(eq=False)
class Node:
    """One set of inputs of the stage, and the sets that must run before it."""

    program: str
    feeds: Mapping[str, Handle]
    children: list[Node] = classes.field(factory=list)


def in_order(
    stage: Stage,
    feeds: Mapping[str, Handle],
    program: str,
    is_known: Callable[[Mapping[str, Handle]], bool] = lambda _: False,
) -> Iterator[Node]:
    """Yield the inputs on which `stage` must run, the given ones last.

    Inputs that are the same objects count once, and known ones are not searched further. A set
    that needs itself is an error.
    """
    root = Node(program, feeds)
    known = {_identity(root): root}
    path: list[tuple[Node, Iterator[Node]]] = [(root, iter(_children(stage, root, known)))]
    open_nodes = {id(root)}
    finished: set[int] = set()
    while path:
        node, rest = path[-1]
        child = next(rest, None)
        if child is None:
            path.pop()
            open_nodes.discard(id(node))
            finished.add(id(node))
            yield node
        elif id(child) in open_nodes:
            raise WorkflowError(
                f"'{child.program}' needs itself: "
                + " -> ".join(f"'{step.program}'" for step, _ in path)
                + f" -> '{child.program}'.",
                hints=["Operators cannot call themselves, not even through others."],
            )
        elif id(child) not in finished:
            open_nodes.add(id(child))
            below = () if is_known(child.feeds) else _children(stage, child, known)
            path.append((child, iter(below)))


def _children(stage: Stage, node: Node, known: dict[tuple[int, ...], Node]) -> list[Node]:
    inputs = {need: handle.get() for need, handle in node.feeds.items()}
    for needed in stage.prerequisites(inputs):
        child = Node(_name(needed, node.program), {need: given(needed[need]) for need in needed})
        child = known.setdefault(_identity(child), child)
        node.children.append(child)
    return node.children


def _identity(node: Node) -> tuple[int, ...]:
    return tuple(id(handle.get()) for _, handle in sorted(node.feeds.items()))


def _name(inputs: Mapping[str, Any], default: str) -> str:
    names = (getattr(value, "name", None) for value in inputs.values())
    return next((name for name in names if isinstance(name, str)), default)
