from typing import ClassVar

import attrs
import pytest

from fieldforge.runtime.process.errors import OptionError, WorkflowError
from fieldforge.stages.base import Stage
from fieldforge.stages.lower.pass_stage import PassStage
from fieldforge.stages.lower.stage import Lower
from fieldforge.stages.parse.stage import Parse
from fieldforge.workflows.backends.recipes import registry
from fieldforge.workflows.graph.edges import Edge
from fieldforge.workflows.graph.graph import Workflow

from ..stand_ins import REGISTRY, Fail, Measure, Numbers, Read, Sort, Total, Words

CHAIN = Workflow.chain(Read(), Sort(), Measure(), Total())


@attrs.frozen
class Reverse(Stage):
    name: ClassVar = "reverse"
    needs: ClassVar = ("ordered",)
    provides: ClassVar = {"ordered": Words}

    def run(self, **inputs):
        return {"ordered": Words(inputs["ordered"].words[::-1])}


@attrs.frozen
class Picky(Stage):
    name: ClassVar = "picky"
    needs: ClassVar = ("ordered",)
    provides: ClassVar = {"ordered": Numbers}


def nothing_changes(program):
    return program


def test_chain_connects_each_input_with_the_nearest_port_of_its_name():
    assert CHAIN.edges == (
        Edge("measure", "lengths", "total", "lengths"),
        Edge("measure", "units", "total", "units"),
        Edge("read", "words", "sort", "words"),
        Edge("sort", "ordered", "measure", "ordered"),
    )
    assert CHAIN.inputs == ("source", "unit")


def test_plan_follows_the_edges_whatever_the_order_of_the_nodes():
    shuffled = Workflow(reversed(CHAIN.nodes), CHAIN.edges)

    assert [step.name for step in shuffled.plan] == ["read", "sort", "measure", "total"]


def test_cycle_is_refused_by_the_names_on_it():
    edges = [Edge("a", "ordered", "b", "ordered"), Edge("b", "ordered", "a", "ordered")]

    with pytest.raises(WorkflowError, match="cycle through 'a', 'b'"):
        Workflow([("a", Reverse()), ("b", Reverse())], edges)


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (Edge("read", "wrods", "sort", "words"), "'read' has no output 'wrods'.*one of 'words'"),
        (Edge("read", "words", "sort", "wrods"), "'sort' has no input 'wrods'.*one of 'words'"),
        (Edge("raed", "words", "sort", "words"), "names the unknown stage 'raed'"),
    ],
)
def test_edge_to_an_unknown_port_is_refused(edge, message):
    with pytest.raises(WorkflowError, match=message):
        Workflow([("read", Read()), ("sort", Sort())], [edge])


def test_port_of_another_class_is_refused():
    edge = Edge("sort", "ordered", "picky", "ordered")

    with pytest.raises(WorkflowError, match="'picky' expects 'Numbers', got 'Words' from"):
        Workflow([("sort", Sort()), ("picky", Picky())], [edge])


def test_replacement_that_provides_another_class_is_refused():
    @attrs.frozen
    class Wrong(Measure):
        provides: ClassVar = {"lengths": Words, "units": Words}

    with pytest.raises(WorkflowError, match="'lengths' of stage 'total' expects 'Numbers'"):
        CHAIN.replace(measure=Wrong())


def test_input_that_is_fed_twice_is_refused():
    nodes = [("one", Sort()), ("two", Sort()), ("reverse", Reverse())]
    edges = [Edge(name, "ordered", "reverse", "ordered") for name in ("one", "two")]

    with pytest.raises(WorkflowError, match="fed twice: by 'one' and by 'two'"):
        Workflow(nodes, edges)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Workflow.chain(Read(), Sort(), Total()), "Stage 'total' cannot be reached"),
        (lambda: CHAIN.replace(srot=Sort()), "no stage 'srot', expected one of 'read', 'sort'"),
        (lambda: CHAIN.remove("sort"), "'sort' cannot be removed: stage 'measure' needs"),
        (lambda: Workflow.parse("read -> srot", REGISTRY), "No stage 'srot' is registered"),
        (lambda: Workflow.parse("read -> sort(backward=True)", REGISTRY), "mean 'backwards'"),
    ],
    ids=["nothing reaches it", "unknown", "others need it", "unknown in a text", "unknown option"],
)
def test_what_is_no_workflow_is_refused(make, message):
    with pytest.raises((WorkflowError, OptionError), match=message):
        make()


def test_replace_changes_one_stage_and_keeps_the_edges():
    changed = CHAIN.replace(sort=Sort(backwards=True))

    assert changed["sort"] == Sort(backwards=True)
    assert changed.edges == CHAIN.edges
    assert CHAIN["sort"] == Sort()


def test_insert_after_rewires_those_who_used_the_port():
    changed = CHAIN.insert_after("sort", Reverse())

    assert changed.names == ("read", "sort", "reverse", "measure", "total")
    assert Edge("sort", "ordered", "reverse", "ordered") in changed.edges
    assert Edge("reverse", "ordered", "measure", "ordered") in changed.edges
    assert Edge("sort", "ordered", "measure", "ordered") not in changed.edges


def test_insert_after_takes_a_bare_function_for_a_pass():
    flow = Workflow.chain(Parse(), Lower()).insert_after("lower", nothing_changes)

    assert flow["nothing_changes"] == PassStage(nothing_changes)


def test_insert_of_a_second_stage_of_one_name_needs_a_name_of_its_own():
    once = CHAIN.insert_after("sort", Reverse())

    with pytest.raises(WorkflowError, match="has a stage 'reverse' already"):
        once.insert_after("reverse", Reverse())

    assert "again" in once.insert_after("reverse", Reverse(), under="again")


def test_remove_hands_on_the_port_that_the_stage_passed_on():
    assert CHAIN.insert_after("sort", Reverse()).remove("reverse") == CHAIN


def test_upto_keeps_what_the_stage_depends_on():
    assert CHAIN.upto("sort").names == ("read", "sort")


def test_merge_of_equal_workflows_is_the_workflow():
    assert Workflow.merge(one=CHAIN, two=CHAIN) == CHAIN


@pytest.mark.parametrize(
    "flow",
    [
        CHAIN,
        CHAIN.replace(sort=Sort(backwards=True)),
        CHAIN.upto("read"),
        Workflow.merge(up=CHAIN, down=CHAIN.replace(sort=Sort(backwards=True))),
        Workflow([("read", Read()), ("other", Sort())], [Edge("read", "words", "other", "words")]),
    ],
)
def test_text_parses_back(flow):
    assert Workflow.parse(str(flow), REGISTRY) == flow


def test_text_of_a_chain_shows_options_that_are_no_defaults():
    flow = Workflow.chain(Read(), Sort(backwards=True))

    assert str(flow) == "read -> sort(backwards=True)"


def test_text_with_a_pass_parses_back():
    flow = Workflow.chain(Parse(), Lower(fold=False)).insert_after("lower", nothing_changes)

    assert str(flow) == "parse -> lower(fold=False) -> nothing_changes"
    known = {**registry(), "nothing_changes": nothing_changes}
    assert Workflow.parse(str(flow), known) == flow


def test_graph_is_a_networkx_graph_with_the_stages_on_its_nodes():
    graph = CHAIN.graph()

    assert list(graph) == list(CHAIN.names)
    assert graph.nodes["sort"]["stage"] == Sort()
    assert graph.edges["measure", "total"]["ports"] == (("lengths", "lengths"), ("units", "units"))


def test_drawing_has_one_stage_a_line():
    assert CHAIN.upto("measure").draw().splitlines() == [
        "source -------------> read    -> words",
        "read.words ---------> sort    -> ordered",
        "sort.ordered, unit -> measure -> lengths, units",
    ]


def test_mermaid_names_every_port():
    assert Workflow.chain(Read(), Fail()).mermaid().splitlines() == [
        "flowchart TD",
        '    i0(["source"])',
        '    s0["read"]',
        '    s1["fail"]',
        "    i0 --> s0",
        '    s0 -- "words" --> s1',
    ]


def test_order_of_a_thousand_stages_does_not_recurse():
    nodes = [(f"s{i}", Reverse()) for i in range(3000)]
    edges = [Edge(f"s{i}", "ordered", f"s{i + 1}", "ordered") for i in range(2999)]

    flow = Workflow(nodes, edges)

    assert flow.plan[-1].name == "s2999"
    assert len(flow.upto("s2998").nodes) == 2999
