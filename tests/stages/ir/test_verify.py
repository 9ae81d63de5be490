from __future__ import annotations

import attrs
import pytest

from fieldforge.runtime.dimension import Dimension
from fieldforge.runtime.errors import WorkflowError
from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.ir.dataflow import Input, Literal, Map, Scalar, Shift, Statement
from fieldforge.stages.ir.dataflow_text import parse
from fieldforge.stages.ir.verify import verify

I, J = Dimension("I"), Dimension("J")

GOOD = """\
program run(u, out, n)
dimension I horizontal
dimension J horizontal
field u: [I, J] float64
field out: [I, J] float64
scalar n: int32
%0 = input u : [I, J] float64
%1 = shift %0 I+1 : [I, J] float64
%2 = literal 0.5 : float64
%3 = mul %1 %2 : [I, J] float64
%4 = input u @1 : [I, J] float64
%5 = scalar n : int32
statement
  u[I: 0 .. n, J: start(out, J) .. stop(out, J)] = %3
statement
  out[I: 0 .. n, J: start(out, J) .. stop(out, J)] = %4
"""


def program(text: str = GOOD):
    return Lowered(*parse(text))


def with_row(row: int, **changes):
    lowered = program()
    values = list(lowered.program.values)
    values[row] = attrs.evolve(values[row], **changes)
    return Lowered(attrs.evolve(lowered.program, values=tuple(values)))


def with_value(value):
    lowered = program()
    return Lowered(attrs.evolve(lowered.program, values=(*lowered.program.values, value)))


def test_a_good_program_comes_back():
    lowered = program()

    assert verify(lowered) is lowered


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (with_row(3, args=(1, 3)), "row %3 uses a row that does not stand before it"),
        (with_row(3, dims=(I,)), "row %3 has dimensions that are not the canonical union"),
        (with_row(3, dtype="float32"), "row %3 has dtype 'float32', expected 'float64'"),
        (with_row(3, args=(1, 2, 2)), "row %3 gives 'mul' 3 operands, expected 2"),
        (with_row(3, op="lerp"), "row %3 has the unknown operation 'lerp'"),
        (with_row(3, op="and"), "row %3 gives 'and' an operand of dtype 'float64'"),
        (with_row(3, op="select", args=(1, 1, 1)), "row %3 selects by a 'float64'"),
        (with_row(1, offset=0), "row %1 is shifted by 0"),
        (with_row(1, dim=Dimension("K")), "row %1 is shifted along"),
        (with_row(1, dtype="int32"), "row %1 has another dtype than"),
        (with_row(2, text="0.50"), "row %2 spells '0.50', whose canonical spelling is '0.5'"),
        (with_row(2, text="half"), "row %2 spells 'half', which is no number"),
        (with_row(2, dims=(I,)), "row %2 is a literal with dimensions"),
        (with_row(0, name="v"), "row %0 reads 'v', which is no field leaf"),
        (with_row(0, dtype="float32"), "row %0 reads 'u' with other dimensions"),
        (with_row(5, name="u"), "row %5 reads 'u', which is no scalar leaf"),
        (with_row(4, version=2), "row %4 is version 2 of 'u', where statements read version 1"),
        (with_value(Literal(text="0.5", dims=(), dtype="float64")), "row %6 equals row %2"),
        (
            with_value(Map(op="add", args=(0, 5), dims=(I, J), dtype="int32")),
            "row %6 gives 'add' operands of different dtypes: float64, int32",
        ),
        (
            with_value(Map(op="sqrt", args=(5,), dims=(), dtype="int32")),
            "row %6 gives 'sqrt' an operand of dtype 'int32'",
        ),
        (
            with_value(Map(op="lt", args=(5, 5), dims=(), dtype="int32")),
            "row %6 has dtype 'int32', expected 'bool'",
        ),
        (program(GOOD.replace("0 .. n", "0 .. out")), "which is no integer"),
        (program(GOOD.replace("stop(out, J)", "stop(n, J)")), "which no field leaf has"),
        (program(GOOD.replace("  out[I: 0 .. n, ", "  out[")), "not over the dimensions"),
        (program(GOOD.replace("= %4", "= %5")), "value of dtype 'int32', expected 'float64'"),
        (program(GOOD.replace("  out[", "  n[")), "has no field leaf for its target"),
        (program(GOOD.replace("field out: [I, J]", "field out: [J, I]")), "canonical order"),
        (program(GOOD.replace("run(u, out, n)", "run(u, out)")), "leaf 'n' belongs to no"),
        (program(GOOD.replace("field out", "field u")), "leaf 'u' stands 2 times"),
        (
            attrs.evolve(
                program(),
                program=attrs.evolve(program().program, statements=(Statement(()),)),
            ),
            "statement 0 stores nothing",
        ),
        (attrs.evolve(program(), boxes=((),)), "1 boxes are given for 6 values"),
        (attrs.evolve(program(), boxes=((),) * 6), "row %0 has a box that is not over"),
    ],
)
def test_a_broken_rule_is_named_with_its_row(broken, words):
    with pytest.raises(WorkflowError, match=words):
        verify(broken)


def test_a_value_may_have_fewer_dimensions_than_what_it_is_stored_to():
    verify(
        program(
            GOOD.replace(
                "out[I: 0 .. n, J: start(out, J) .. stop(out, J)] = %4",
                "out[I: 0 .. n, J: start(out, J) .. stop(out, J)] = %2",
            )
        )
    )


def test_the_kinds_of_rows_are_all_checked():
    kinds = {type(value) for value in program().program.values}

    assert kinds == {Input, Scalar, Literal, Map, Shift}
