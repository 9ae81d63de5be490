import attrs
import pytest

from fieldforge.runtime.process.errors import OptionError, WorkflowError
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.lower.pass_stage import PassStage
from fieldforge.stages.lower.passes import lower
from fieldforge.stages.lower.rewrite import with_values

from .trees import difference, parsed


def negate(program):
    """Write the negative of the last value."""
    graph = Graph()
    refs = [graph.add(value) for value in program.values]
    negative = graph.map("neg", (refs[-1],))
    return with_values(program, graph, lambda _: negative)


def drop_values(program):
    return attrs.evolve(program, values=())


def return_nothing(program):
    return None


@pytest.fixture
def lowered():
    return lower(parsed(difference()), Variant())


def test_a_users_pass_runs_and_its_boxes_are_inferred_again(lowered):
    (result,) = PassStage(negate).run(lowered=lowered).values()

    assert result.program.values[-1].op == "neg"
    assert result.boxes[-1] == lowered.boxes[-1]
    assert result.reads == lowered.reads


def test_the_stage_is_named_and_keyed_by_its_function():
    stage = PassStage(negate)

    assert stage.name == "negate"
    assert stage.environment()["pass"].endswith("test_pass_stage.negate")
    assert stage == PassStage(negate)
    assert stage != PassStage(drop_values)


def test_a_pass_that_breaks_the_rules_is_refused(lowered):
    with pytest.raises(WorkflowError, match="has no value"):
        PassStage(drop_values).run(lowered=lowered)
    with pytest.raises(OptionError, match="'return_nothing' returned a 'NoneType'"):
        PassStage(return_nothing).run(lowered=lowered)


def test_a_function_without_name_is_refused():
    with pytest.raises(OptionError, match="named function"):
        PassStage(lambda program: program)
