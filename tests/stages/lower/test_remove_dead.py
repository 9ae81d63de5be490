from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.ir.dataflow_text import parse
from fieldforge.stages.lower.rewrite import remove_dead

BEFORE = """\
program run(u, out)
dimension I horizontal
field u: [I] float64
field out: [I] float64
%0 = literal 2.0 : float64
%1 = input u : [I] float64
%2 = mul %0 %1 : [I] float64
%3 = input out : [I] float64
%4 = add %1 %1 : [I] float64
%5 = shift %4 I-1 : [I] float64
statement
  out[I: 0 .. 4] = %5
"""

AFTER = """\
program run(u, out)
dimension I horizontal
field u: [I] float64
field out: [I] float64
%0 = input u : [I] float64
%1 = add %0 %0 : [I] float64
%2 = shift %1 I-1 : [I] float64
statement
  out[I: 0 .. 4] = %2
"""


def test_values_that_no_store_needs_are_dropped_and_the_rest_keeps_its_order():
    assert Lowered(remove_dead(parse(BEFORE)[0])).text == AFTER


def test_a_program_without_dead_values_stays_as_it_is():
    program = parse(AFTER)[0]

    assert remove_dead(program) == program
