"""Scans hand on combinations of their results where these are fewer."""

from fieldforge.stages.adjoint.combining import with_combined_results
from fieldforge.stages.ir.dataflow_text import parse, show
from fieldforge.stages.lower.rewrite import remove_dead

HEAD = """\
program back(u, out, more)
dimension K vertical
field u: [K] float64
field out: [K] float64
field more: [K] float64
%0 = input u : [K] float64
%1 = literal 0.0 : float64
"""
SCAN = """\
%2 = scan K backward start(u, K) .. stop(u, K) init %1 %1 %1 args %0 : [K] float64
  %0 = scalar s0 : float64
  %1 = scalar a0 : float64
  %2 = add %0 %1 : float64
  %3 = mul %1 %1 : float64
  %4 = mul %2 %1 : float64
  next %2 %3 %4
%3 = result %2 1 : [K] float64
%4 = result %2 2 : [K] float64
%5 = sub %3 %4 : [K] float64
%6 = literal 0.5 : float64
%7 = mul %5 %6 : [K] float64
"""
STORED = """\
statement
  out[K: start(out, K) .. stop(out, K)] = %{}
"""


def combined(text):
    program, _, _ = parse(text)
    return show(remove_dead(with_combined_results(program)))


def test_a_scan_gives_the_difference_of_two_results_in_their_place():
    found = combined(HEAD + SCAN + STORED.format(7))

    assert (
        found
        == HEAD
        + """\
%2 = scan K backward start(u, K) .. stop(u, K) init %1 %1 %1 %1 args %0 : [K] float64
  %0 = scalar s0 : float64
  %1 = scalar a0 : float64
  %2 = add %0 %1 : float64
  %3 = mul %1 %1 : float64
  %4 = mul %2 %1 : float64
  %5 = sub %3 %4 : float64
  %6 = literal 0.5 : float64
  %7 = mul %5 %6 : float64
  next %2 %3 %4 %7
%3 = result %2 3 : [K] float64
"""
        + STORED.format(3)
    )


def test_results_that_are_read_besides_stay():
    shifted = "%8 = shift %3 K+1 : [K] float64\n%9 = add %7 %8 : [K] float64\n"
    given = HEAD + SCAN + shifted + STORED.format(9)

    assert combined(given) == given


def test_one_result_in_place_of_one_is_no_gain():
    one = "%4 = literal 0.5 : float64\n%5 = mul %3 %4 : [K] float64\n"
    given = HEAD + SCAN.partition("%4 = result")[0] + one + STORED.format(5)

    assert combined(given) == given


def test_results_of_another_scan_are_not_taken_for_its_own():
    """A scan reads the third result of another one, and gives fewer itself."""
    first = SCAN.partition("%3 = result")[0]
    second = """\
%3 = result %2 2 : [K] float64
%4 = scan K forward start(u, K) .. stop(u, K) init %1 %1 args %3 : [K] float64
  %0 = scalar a0 : float64
  %1 = mul %0 %0 : float64
  %2 = add %0 %1 : float64
  next %1 %2
%5 = result %4 0 : [K] float64
%6 = result %4 1 : [K] float64
%7 = sub %5 %6 : [K] float64
"""
    found = combined(HEAD + first + second + STORED.format(7))

    assert "next %1 %2 %3\n%5 = result %4 2 : [K] float64\n" in found
