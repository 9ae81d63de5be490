"""Hooks made for gt4py see one state, and what they change is given back to ours."""

from typing import Any

import pytest

from fieldforge.stages.codegen.dace.one_state import JoinedStatesError, one_state
from fieldforge.stages.codegen.dace.passes import InvalidGraphError, TransformationWarning
from fieldforge.stages.codegen.dace.stage import CodegenDace
from fieldforge.stages.lower.graph import Graph

from ..programs import REAL, TARGET, I, J, all_unit, make_program, whole

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]
BOTH = (I, J)


def two_outputs() -> Any:
    """Return the product of two fields, and from it another field."""
    graph = Graph()
    a, b = graph.input("a", BOTH, REAL), graph.input("b", BOTH, REAL)
    product = graph.map("mul", (a, b))
    total = graph.map("add", (graph.map("sqrt", (product,)), a))
    fields = [(name, REAL, BOTH) for name in ("a", "b", "out", "low")]
    stores = [("out", whole("out", BOTH), product), ("low", whole("low", BOTH), total)]
    return make_program("two_outputs", graph, fields, stores)


def written(*hooks: Any, **options: Any) -> Any:
    """Return the text of two outputs, with functions that were made for gt4py."""
    names = tuple(hook.__name__ for hook in hooks)
    stage = CodegenDace(target=TARGET, passes=hooks, gt4py_hooks=names, **options)
    return stage.run(lowered=two_outputs(), variant=all_unit(two_outputs(), J))["generated"]


def states_of(listing: str) -> list[str]:
    return [line.strip() for line in listing.splitlines() if line.startswith("state ")]


def only_state(sdfg: Any) -> Any:
    (state,) = sdfg.states()
    assert sdfg.nodes() == [state]
    return state


def node_of(state: Any, data: str) -> Any:
    (node,) = (node for node in state.data_nodes() if node.data == data)
    return node


def leave_alone(sdfg: Any) -> None:
    state = only_state(sdfg)
    assert state.in_degree(node_of(state, "a")) == 0  # one node for all that read it
    assert {"out", "low"} <= {node.data for node in state.sink_nodes()}


def mark_map(sdfg: Any) -> None:
    state = only_state(sdfg)
    (edge,) = state.in_edges(node_of(state, "low"))
    edge.src.map.label = "of_low"


def tie(sdfg: Any) -> None:
    from dace import Memlet

    state = only_state(sdfg)
    (edge,) = state.in_edges(node_of(state, "out"))
    state.add_nedge(edge.src, node_of(state, "low"), Memlet())


def mark_second(sdfg: Any) -> None:
    sdfg.states()[1].label = "marked"


def add_state(sdfg: Any) -> None:
    sdfg.add_state_after(sdfg.states()[-1], "more")


def write_input(sdfg: Any) -> None:
    for state in sdfg.states():
        for node in state.data_nodes():
            node.data = "a" if node.data == "out" else node.data
        for edge in state.edges():
            edge.data.data = "a" if edge.data.data == "out" else edge.data.data


def two_states() -> Any:
    """Return an SDFG that copies 'a' to an array in one state, and that to 'out' in the next."""
    import dace

    sdfg = dace.SDFG("two_states")
    for name in ("a", "out"):
        sdfg.add_array(name, [4], dace.float64)
    sdfg.add_transient("array", [4], dace.float64)
    first = sdfg.add_state("first")
    second = sdfg.add_state_after(first, "second")
    for state, source, target in ((first, "a", "array"), (second, "array", "out")):
        state.add_nedge(state.add_access(source), state.add_access(target), dace.Memlet(source))
    return sdfg


def test_an_array_that_a_later_state_reads_has_one_node() -> None:
    sdfg = two_states()
    before = sdfg.to_json()["nodes"]

    with one_state(sdfg) as has_joined:
        (state,) = sdfg.nodes()
        assert has_joined
        assert [node.data for node in state.data_nodes()] == ["a", "array", "out"]
        assert state.number_of_edges() == 2

    assert [len(each["nodes"]) for each in sdfg.to_json()["nodes"]] == [2, 2]
    assert [each["label"] for each in sdfg.to_json()["nodes"]] == [e["label"] for e in before]
    sdfg.validate()


def test_data_is_read_as_the_last_state_before_leaves_it() -> None:
    """'a' is copied to an array, then 'out' to 'a': a third state must not read the first 'a'."""
    import dace

    sdfg = two_states()
    third = sdfg.add_state_after(sdfg.nodes()[1], "third")
    third.add_nedge(third.add_access("out"), third.add_access("a"), dace.Memlet("out"))
    last = sdfg.add_state_after(third, "last")
    last.add_nedge(last.add_access("a"), last.add_access("array"), dace.Memlet("a"))

    with pytest.raises(JoinedStatesError, match="'a' and what uses it"), one_state(sdfg):
        read_first(sdfg.nodes()[0])


def read_first(state: Any) -> None:
    """Let what reads the last node of 'a' read the first."""
    first, last = (node for node in state.data_nodes() if node.data == "a")
    (edge,) = state.out_edges(last)
    state.remove_edge(edge)
    state.add_nedge(first, edge.dst, edge.data)


def test_states_with_a_choice_between_them_stay_apart() -> None:
    sdfg = two_states()
    sdfg.edges()[0].data.condition.as_string = "N > 0"

    with one_state(sdfg) as has_joined:
        assert not has_joined
        assert len(sdfg.nodes()) == 2


def test_a_hook_sees_one_state_and_leaves_ours_as_they_were() -> None:
    plain = written(fusion="dace")
    assert states_of(plain.loops) == ["state state0_values", "state state1_out", "state state2_low"]

    assert written(leave_alone, fusion="dace") == plain


def test_what_a_hook_changes_stands_in_the_state_that_it_belongs_to() -> None:
    listing = written(mark_map).loops
    assert states_of(listing) == ["state state0_out", "state state1_low"]
    first, second = listing.split("state state1_low")
    assert "map of_low" in second
    assert "map of_low" not in first


def test_a_hook_that_ties_states_is_left_out() -> None:
    with pytest.warns(TransformationWarning, match="'tie' is left out.*that must stay apart"):
        tied = written(tie)
    assert tied == written()


def test_a_hook_that_wants_our_states_gets_them() -> None:
    assert states_of(written(mark_second).loops) == ["state state0_out", "state marked"]
    assert len(states_of(written(add_state).loops)) == 3


def test_a_pass_must_not_write_what_the_program_reads() -> None:
    """A call may have copied it, so the result would be lost."""
    with pytest.warns(TransformationWarning, match="'write_input' is left out.*writes 'a', which"):
        assert written(write_input) == written()
    with pytest.raises(InvalidGraphError, match="After pass 'write_input' the SDFG writes 'a'"):
        CodegenDace(target=TARGET, passes=(write_input,)).run(
            lowered=two_outputs(), variant=all_unit(two_outputs(), J)
        )
