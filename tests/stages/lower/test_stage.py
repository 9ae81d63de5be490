import attrs
import pytest

from fieldforge.runtime.process.errors import OptionError, WorkflowError
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.lower.passes import lower
from fieldforge.stages.lower.stage import Lower

from .trees import chain, difference, parsed


def test_the_stage_gives_what_the_function_gives():
    tree = parsed(difference())

    result = Lower().run(parsed=tree, variant=Variant())

    assert result == {"lowered": lower(tree, Variant())}


def test_unknown_numerics_are_refused():
    with pytest.raises(OptionError, match="Did you mean 'strict'"):
        Lower(numerics="strikt")


def test_a_pass_that_breaks_the_rules_is_caught_at_once():
    def forget_everything(program):
        return attrs.evolve(program, values=program.values[:1])

    with pytest.raises(WorkflowError, match="has no value"):
        lower(parsed(difference()), Variant(), passes=(forget_everything,))


@pytest.mark.parametrize("stencil", [False, True])
def test_1200_operators_that_call_each_other_are_lowered_in_proportion(stencil):
    small = lower(chain(300, stencil=stencil), Variant())
    large = lower(chain(1200, stencil=stencil), Variant())

    assert len(large.program.values) <= 4.2 * len(small.program.values)
    assert Lowered.from_files(large.files()) == large


def test_equal_programs_have_equal_bytes():
    first, second = (lower(parsed(difference()), Variant()).files() for _ in range(2))

    assert first == second


def test_an_error_tells_which_pass_broke_the_program_first():
    def drop_values(program):
        return attrs.evolve(program, values=())

    def stumble(program):
        raise KeyError("a later pass")

    with pytest.raises(WorkflowError, match="has no value"):
        lower(parsed(difference()), Variant(), passes=(drop_values, stumble))
    with pytest.raises(KeyError, match="a later pass"):
        lower(parsed(difference()), Variant(), passes=(stumble,))
