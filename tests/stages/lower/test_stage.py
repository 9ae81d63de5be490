import attrs
import pytest

from fieldforge.runtime.process.errors import OptionError, WorkflowError
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.ir import syntax
from fieldforge.stages.lower.passes import PASSES, lower
from fieldforge.stages.lower.stage import Lower

from .trees import FLOAT64, LINE, Tree, chain, difference, parsed


def test_the_stage_gives_what_the_function_gives():
    tree = parsed(difference())

    result = Lower().run(parsed=tree, variant=Variant())

    assert result == {"lowered": lower(tree, Variant())}


def test_every_step_is_watched_and_boxes_come_last():
    seen: list[tuple[str, Lowered]] = []

    result = lower(parsed(difference()), Variant(), watch=lambda *step: seen.append(step))

    assert [name for name, _ in seen] == [
        "build",
        *(step.__name__ for step in PASSES),
        "infer_boxes",
    ]
    assert [bool(lowered.boxes) for _, lowered in seen] == [False] * (len(PASSES) + 1) + [True]
    assert seen[-1][1] == result


def test_without_folding_constants_stay():
    tree = Tree()
    one = tree.op("mul", tree.literal("2.0", FLOAT64), tree.literal("0.5", FLOAT64))
    operator = tree.operator(
        "op", {"u": LINE}, syntax.Return(tree.op("mul", tree.name("u", LINE), one))
    )
    inputs = {"parsed": parsed(operator), "variant": Variant()}

    folded = Lower().run(**inputs)["lowered"]
    plain = Lower(fold=False).run(**inputs)["lowered"]

    assert len(folded.program.values) == 1
    assert len(plain.program.values) == 5


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
