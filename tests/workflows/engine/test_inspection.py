import pytest

from fieldforge.cache.disk import Disk
from fieldforge.runtime.process.errors import WorkflowError
from fieldforge.workflows.engine.engine import Engine
from fieldforge.workflows.engine.inspection import make_trace
from fieldforge.workflows.graph.graph import Workflow

from ..stand_ins import Read, Sort, Source

CHAIN = Workflow.chain(Read(), Sort())


def trace(engine, flow=CHAIN, text="pear fig"):
    results = engine.run(flow, {"source": Source("p", text)}, program="p")
    return make_trace("p", flow.plan, results, engine.store)


def test_trace_gives_text_artifact_outcome_and_key_of_each_stage(engine):
    found = trace(engine)

    assert list(found) == ["read", "sort"]
    assert found["sort"].text == "fig pear"
    assert found["sort"].artifact.words == ("fig", "pear")
    assert (found["sort"].outcome, len(found["sort"].key)) == ("ran", 64)


def test_explain_says_that_a_stage_ran_for_the_first_time(engine):
    assert trace(engine)["sort"].explain() == "sort: ran, for the first time for 'p'."


def test_explain_names_the_input_that_changed(engine):
    trace(engine, text="pear fig")

    lines = trace(engine, text="pear fig plum").explain().splitlines()

    assert "  input 'text' changed from pear fig to pear fig plum" in lines
    assert any(line.startswith("  input 'words' changed from ") for line in lines)


def test_explain_says_where_a_result_was_found(engine):
    trace(engine)

    assert trace(engine)["sort"].explain() == "sort: found in this process."
    other = trace(Engine(Disk(engine.store.path)))
    assert other["sort"].explain() == "sort: found in the store."


def test_unknown_stage_names_the_nearest(engine):
    with pytest.raises(WorkflowError, match=r"no stage 'srot'.*\n?.*\nHint: Did you mean 'sort'"):
        trace(engine)["srot"]


def test_stage_without_loops_says_so(engine):
    with pytest.raises(WorkflowError, match="'sort' writes no loops"):
        _ = trace(engine)["sort"].loops


def test_trace_as_text_has_one_stage_a_line(engine):
    rows = str(trace(engine)).splitlines()

    assert [row.split()[:2] for row in rows] == [["read", "ran"], ["sort", "ran"]]
