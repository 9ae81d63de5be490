"""Walk the expressions of a typed tree."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from ..ir.stencil import Node, Read, Ref


def reads_below(
    nodes: Sequence[Node],
    roots: Iterable[Ref | None],
    places: bool = True,
    without: Container[Ref] = (),
) -> list[Read]:
    """Return the reads in some expressions, each once, in the order of the text.

    Without `places`, those that only say where others read are left out; `without` are rows below
    which no reads count.
    """
    found: list[Read] = []
    seen: set[Ref] = set()
    stack = [root for root in reversed(list(roots)) if root is not None]
    while stack:
        ref = stack.pop()
        if ref in seen or ref in without:
            continue
        seen.add(ref)
        node = nodes[ref]
        if isinstance(node, Read):
            found.append(node)
            if not places:
                continue
        stack += reversed(node.operands)
    return found
