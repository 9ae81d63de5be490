import re

import attrs
import pytest

from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.process.errors import WorkflowError
from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.ir.dataflow import (
    Input,
    Literal,
    Map,
    Scalar,
    ScalarSymbol,
    Shift,
    Statement,
)
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


def with_range(text: str):
    return program(
        GOOD.replace("field out: [I, J] float64", f"field out: [I, J] float64 on {text}")
    )


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (with_row(3, args=(1, 3)), "row %3 uses a row that is not defined before it"),
        (with_row(3, dims=(I,)), "row %3 has dimensions that are not the canonical union"),
        (with_row(3, dtype="float32"), "row %3 has dtype 'float32', expected 'float64'"),
        (with_row(3, args=(1, 2, 2)), "row %3 gives 'mul' 3 operands, expected 2"),
        (with_row(3, op="lerp"), "row %3 has the unknown operation 'lerp'"),
        (with_row(3, op="and"), "row %3 gives 'and' an operand of dtype 'float64'"),
        (with_row(3, op="select", args=(1, 1, 1)), "row %3 selects by a 'float64'"),
        (with_row(1, offset=0), "row %1 is shifted by 0"),
        (with_row(1, dim=Dimension("K")), "row %1 is shifted along"),
        (with_row(1, dtype="int32"), "row %1 has a dtype other than"),
        (with_row(2, text="0.50"), "row %2 spells '0.50', whose canonical spelling is '0.5'"),
        (with_row(2, text="half"), "row %2 spells 'half', which is not a number"),
        (with_row(2, dims=(I,)), "row %2 is a literal with dimensions"),
        (with_row(0, name="v"), "row %0 reads 'v', which is not a field leaf"),
        (with_row(0, dtype="float32"), "row %0 reads 'u' with dimensions or a dtype other"),
        (with_row(5, name="u"), "row %5 reads 'u', which is not a scalar leaf"),
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
        (program(GOOD.replace("0 .. n", "0 .. out")), "which is not an integer"),
        (program(GOOD.replace("stop(out, J)", "stop(n, J)")), "which no field leaf has"),
        (program(GOOD.replace("  out[I: 0 .. n, ", "  out[")), "not over the dimensions"),
        (program(GOOD.replace("= %4", "= %5")), "value of dtype 'int32', expected 'float64'"),
        (program(GOOD.replace("  out[", "  n[")), "has no field leaf for its target"),
        (program(GOOD.replace("field out: [I, J]", "field out: [J, I]")), "canonical order"),
        (program(GOOD.replace("run(u, out, n)", "run(u, out)")), "leaf 'n' belongs to no"),
        (program(GOOD.replace("field out", "field u")), "leaf 'u' is declared 2 times"),
        (with_range("I: 0 .. 4"), "leaf 'out' has ranges that are not over its dimensions"),
        (with_range("I: 0 .. n, J: 0 .. 4"), "leaf 'out' has a range that is not known"),
        (with_range("I: 0 .. 4, J: 0 .. 4"), "which is a known number"),
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


def test_the_kinds_of_rows_are_all_checked():
    kinds = {type(value) for value in program().program.values}

    assert kinds == {Input, Scalar, Literal, Map, Shift}


WHOLE = """\
program run(u, c, by, out, n)
dimension Cell horizontal
dimension Edge horizontal
dimension E2C local
dimension K vertical
field u: [Cell, K] float64
field c: [Edge, E2C] float64
field by: [Edge, K] int32
field out: [Edge, K] float64
scalar n: int32
table E2C: [Edge, E2C] -> Cell width 2 skip
%0 = input u : [Cell, K] float64
%1 = neighbours %0 E2C : [Edge, E2C, K] float64
%2 = input c : [Edge, E2C] float64
%3 = mul %1 %2 : [Edge, E2C, K] float64
%4 = sum %3 over E2C : [Edge, K] float64
%5 = gather %0 E2C[1] : [Edge, K] float64
%6 = input by : [Edge, K] int32
%7 = displace %5 K %6 : [Edge, K] float64
%8 = local %2 E2C[0] : [Edge] float64
%9 = region [Edge: 0 .. n, K: .. 1] [K: n ..] %7 %8 : [Edge, K] float64
%10 = literal 0.0 : float64
%11 = literal 1 : int32
%12 = scan K forward 0 .. n init %10 %11 args %4 %9 : [Edge, K] float64
  %0 = scalar s0 : float64
  %1 = scalar a0 : float64
  %2 = add %0 %1 : float64
  %3 = scalar s1 : int32
  next %2 %3
%13 = result %12 0 : [Edge, K] float64
statement
  out[Edge: lowest(E2C, 0, n) .. n, K: 0 .. 5] = %13
"""


OF_WHOLE = [
    ("neighbours %0 E2C", "neighbours %0 C2E", "row %1 uses table 'C2E'"),
    ("%1 = neighbours %0 E2C : [Edge, E2C, K]", "%1 = neighbours %0 E2C : [Edge, K]",
     "row %1 has dimensions other than those of a gather by 'E2C'"),
    ("gather %0 E2C[1]", "gather %0 E2C[2]", "row %5 takes neighbour 2 of 'E2C', which has 2"),
    ("gather %0", "gather %4", "row %5 gathers along 'Cell"),
    ("sum %3 over E2C : [Edge, K]", "sum %3 over E2C : [Edge, E2C, K]",
     "row %4 has dimensions other than those of a reduction"),
    ("displace %5 K %6", "displace %5 K %4", "row %7 is displaced by a 'float64'"),
    ("displace %5 K %6", "displace %5 Cell %6", "row %7 is displaced along 'Cell"),
    ("local %2 E2C[0] : [Edge]", "local %2 E2C[0] : [Edge, K]", "row %8 has dimensions other"),
    ("region [Edge: 0 .. n, K: .. 1] [K: n ..]", "region", "row %9 has a region without boxes"),
    ("region [Edge: 0 .. n, K: .. 1]", "region [K: .. 1, Edge: 0 .. n]", "canonical order"),
    ("region [Edge: 0 .. n, K: .. 1] [K: n ..] %7 %8", "region [K: n ..] %7 %6",
     "row %9 has branches of different dtypes"),
    ("K: n ..]", "K: out ..]", "row %9 has a bound in 'out', which is not an integer"),
    ("init %10 %11", "init %4 %11", "has an initial state that varies along 'K"),
    ("scan K", "scan E2C", "row %12 walks along 'E2C[local]', which"),
    ("next %2 %3", "next %2 %2", "next state has other dtypes"),
    ("scalar a0", "scalar a2", "body whose row %1 reads 'a2'"),
    ("result %12 0", "result %12 2", "row %13 is result 2 of a scan that has 2"),
    ("result %12 0", "result %9 0", "row %13 is the result of a row that is not a scan"),
    ("= %13\n", "= %12\n", "writes a scan"),
    ("lowest(E2C", "lowest(C2E", "whose table is not declared"),
    ("width 2 skip", "width -2 skip", "table 'E2C' has -2 neighbours"),
    ("table E2C: [Edge, E2C]", "table E2C: [Edge, K]", "which is not local"),
]  # fmt: skip


BACK = """\
program run(u, c, out, n)
dimension Cell horizontal
dimension Edge horizontal
dimension E2C local
dimension E2C_t local
dimension K vertical
field u: [Edge, K] float64
field c: [Edge, E2C] float64
field out: [Cell, K] float64
scalar n: int32
table E2C: [Edge, E2C] -> Cell width 2
table E2C_s: [Cell, E2C_t] -> E2C width 3
table E2C_t: [Cell, E2C_t] -> Edge width 3 skip
%0 = input u : [Edge, K] float64
%1 = input c : [Edge, E2C] float64
%2 = mul %0 %1 : [Edge, E2C, K] float64
%3 = collect %2 E2C_t E2C_s : [Cell, E2C_t, K] float64
%4 = collect %0 E2C_t E2C_s slot 1 : [Cell, E2C_t, K] float64
%5 = add %3 %4 : [Cell, E2C_t, K] float64
%6 = sum %5 over E2C_t : [Cell, K] float64
statement
  out[Cell: 0 .. n, K: 0 .. 5] = %6
"""


OF_BACK = [
    ("%2 E2C_t E2C_s", "%2 E2C_t C2E_s", "row %3 uses table 'C2E_s', which is not declared"),
    ("%2 E2C_t E2C_s", "%2 E2C_t E2C", "collects by 'E2C', which has other rows than 'E2C_t'"),
    ("%2 E2C_t E2C_s", "%2 E2C_s E2C_t", "collects by 'E2C_t', which does not hold slots"),
    ("-> E2C width 3", "-> E2C width 3 skip", "by 'E2C_s', which does not hold slots"),
    ("%2 E2C_t E2C_s", "%2 E2C_t E2C_s slot 0", "slot 0 of an operand that has all slots"),
    ("E2C_s : [Cell, E2C_t, K]", "E2C_s : [Cell, K]", "row %3 has dimensions other than those"),
    ("collect %0 E2C_t E2C_s slot 1", "collect %3 E2C_t E2C_s", "row %4 collects along 'Edge"),
]


LEVELS = """\
program run(u, out, n)
dimension I horizontal
dimension J horizontal
dimension K vertical
field u: [I, K] float64
field out: [I] float64
scalar n: int32
%0 = input u : [I, K] float64
%1 = level %0 K at n : [I] float64
statement
  out[I: 0 .. n] = %1
"""


def test_a_level_is_read():
    assert program(LEVELS).program.values[1].at == ScalarSymbol("n")


OF_LEVELS = [
    ("level %0 K", "level %0 J", "row %1 takes an index along 'J"),
    ("K at n : [I]", "K at n : [I, K]", "row %1 has dimensions other"),
    ("K at n", "K at m", "row %1 has a bound in 'm', which is not an integer scalar"),
    ("[I] float64\nstatement", "[I] float32\nstatement", "row %1 has a dtype other"),
]


@pytest.mark.parametrize("text", [GOOD, WHOLE, BACK, LEVELS])
def test_a_good_program_comes_back(text):
    lowered = program(text)

    assert verify(lowered) is lowered


@pytest.mark.parametrize(
    ("text", "right", "wrong", "words"),
    [
        (text, *row)
        for text, rows in ((WHOLE, OF_WHOLE), (BACK, OF_BACK), (LEVELS, OF_LEVELS))
        for row in rows
    ],
)
def test_a_broken_rule_of_what_is_written_is_named(text, right, wrong, words):
    broken = text.replace(right, wrong)
    assert broken != text

    with pytest.raises(WorkflowError, match=re.escape(words)):
        verify(program(broken))
