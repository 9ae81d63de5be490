"""Encoded programs as text: what a small program becomes, and that the text says it all."""

import attrs
import pytest

from fieldforge.stages.encode.program import Step
from fieldforge.stages.encode.stage import Encode
from fieldforge.stages.encode.text import read, show
from fieldforge.stages.encode.verify import EncodingError, verify

from ..codegen.programs import J, all_unit, laplacians


@pytest.fixture
def program():
    lowered = laplacians(1)
    outputs = Encode().run(lowered=lowered, variant=all_unit(lowered, J))
    return outputs["encoded"].program


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_text_is_read_back(count):
    lowered = laplacians(count)
    program = Encode().run(lowered=lowered, variant=all_unit(lowered, J))["encoded"].program

    assert read(show(program)) == program


@pytest.mark.parametrize("damage", ["n0", "program", "lane0", " = "])
def test_damaged_text_is_a_value_error(program, damage):
    text = show(program)
    assert damage in text

    with pytest.raises(ValueError, match=r"\S"):
        read(text.replace(damage, "?", 1))


def test_a_block_that_nobody_wrote_is_refused(program):
    (node,) = program.nodes
    (part,) = node.body.parts
    code = (Step("neg.float64", "t0", ("t7",)), *part.code)
    nest = attrs.evolve(node.body, parts=(attrs.evolve(part, code=code),))

    with pytest.raises(EncodingError, match=r"'neg.float64' reads t7 before it is written"):
        verify(attrs.evolve(program, nodes=(attrs.evolve(node, body=nest),)))
