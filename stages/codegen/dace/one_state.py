"""Join the states of an SDFG while a hook made for gt4py runs, and take them apart again.

gt4py simplifies a program to one state. Ours stay apart, because their order protects arguments
that share memory (see `arrangement`): a hook may change what is in them, not join them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from ....runtime.process import CodegenError


class JoinedStatesError(CodegenError):
    """A hook tied nodes of states that must stay apart, or added a state."""


@contextmanager
def one_state(sdfg: Any) -> Iterator[bool]:
    """Let an SDFG have one state, where its states follow each other; tell whether it had more.

    Raises:
        JoinedStatesError: if the nodes do not come apart.

    """
    states = _chain(sdfg)
    if len(states) < 2:
        yield False
        return
    homes = _join(sdfg, states)
    yield True
    _part(sdfg, states, homes)


def _chain(sdfg: Any) -> list[Any]:
    """Return the states of an SDFG in order; nothing if it has more than one way through them."""
    from dace.sdfg.state import SDFGState

    edges = [(sdfg.out_edges(each), sdfg.in_edges(each)) for each in sdfg.nodes()]
    if not all(isinstance(each, SDFGState) for each in sdfg.nodes()) or any(
        max(len(outgoing), len(incoming)) > 1
        or any(not each.data.is_unconditional() or each.data.assignments for each in outgoing)
        for outgoing, incoming in edges
    ):
        return []
    chain = [sdfg.start_block]
    while following := sdfg.successors(chain[-1]):
        chain += following
    return chain


def _join(sdfg: Any, states: list[Any]) -> dict[Any, int]:
    """Move all nodes to the first state, and return the place of each node's own.

    Data that was read or written before has one node.
    """
    from dace.sdfg.nodes import AccessNode

    first = states[0]
    homes: dict[Any, int] = {}
    last: dict[str, Any] = {}  # the node of data that a later state goes on with
    for place, state in enumerate(states):
        order = list(state.nodes())
        known = {
            node: last[node.data]
            for node in order
            if isinstance(node, AccessNode) and state.in_degree(node) == 0 and node.data in last
        }
        edges = list(state.edges())
        if place:
            for node in order:
                if node not in known:
                    _move(node, first)
            for each in edges:
                source = known.get(each.src, each.src)
                first.add_edge(source, each.src_conn, each.dst, each.dst_conn, each.data)
            sdfg.remove_node(state)
        homes |= {node: place for node in order if node not in known}
        scopes = first.scope_dict()
        last |= {
            node.data: node
            for node in sorted(order, key=state.in_degree)  # what is written comes last
            if isinstance(node, AccessNode) and node not in known and scopes[node] is None
        }
    return homes


def _move(node: Any, state: Any) -> None:
    from dace.sdfg.nodes import NestedSDFG

    if isinstance(node, NestedSDFG):
        node.sdfg.parent = state
    state.add_node(node)


def _part(sdfg: Any, states: list[Any], known: dict[Any, int]) -> None:
    """Give each node back to its state; what a later state reads gets a node of its own there."""
    from dace import InterstateEdge
    from dace.sdfg.nodes import AccessNode

    homes = _homes(states[0], known)
    if sdfg.nodes() != states[:1]:
        raise JoinedStatesError("There are more states than one.")
    order, edges = list(states[0].nodes()), list(states[0].edges())
    reads: dict[tuple[Any, int], Any] = {}
    for each in edges:
        before, after = homes[each.src], homes[each.dst]
        if before != after:
            if not _can_be_read(states[0], homes, each.src, range(before, after)):
                raise JoinedStatesError(
                    f"'{each.src.label}' and what uses it stand in states that must stay apart, "
                    "because arguments of a call may share memory."
                )
            reads[each.src, after] = AccessNode(each.src.data)
    for state in states:
        state.remove_nodes_from(state.nodes())
    for before, after in pairwise(states):
        sdfg.add_node(after)
        sdfg.add_edge(before, after, InterstateEdge())
    for node in order:
        _move(node, states[homes[node]])
    for each in edges:
        place = homes[each.dst]
        source = reads.get((each.src, place), each.src)
        states[place].add_edge(source, each.src_conn, each.dst, each.dst_conn, each.data)


def _can_be_read(state: Any, homes: dict[Any, int], node: Any, places: range) -> bool:
    """Tell whether a node is data that no other node at `places` writes before a later state."""
    from dace.sdfg.nodes import AccessNode

    return (
        bool(places)
        and isinstance(node, AccessNode)
        and not any(
            each.data == node.data and homes[each] in places and state.in_degree(each)
            for each in state.data_nodes()
            if each is not node
        )
    )


def _homes(state: Any, known: dict[Any, int]) -> dict[Any, int]:
    """Return the place of each node's state; new nodes join what they read, or what reads them."""
    from dace.sdfg.utils import dfs_topological_sort

    homes = dict(known)
    order = list(dfs_topological_sort(state))
    for node in order:
        found = [homes[each] for each in state.predecessors(node) if each in homes]
        if node not in homes and found:
            homes[node] = max(found)
    for node in reversed(order):
        if node not in homes:
            homes[node] = min((homes[each] for each in state.successors(node)), default=0)
    return homes
