"""Which answer a test of an index has for most indices."""

import pytest

import fieldforge as ff
from fieldforge.stages.codegen.schedule.guards import OWN, Beyond, parts_of
from fieldforge.stages.ir.bounds import DomainSymbol, Range, add

I = ff.Dimension("I")


def end(which, field):
    return DomainSymbol(which, field, I)


@pytest.mark.parametrize("ahead", [-1, 0, 2])
def test_most_indices_lie_inside_another_field(ahead):
    wide = Range(I, end("start", "u"), end("stop", "u"))
    tests = [
        Beyond(I, OWN, add(end("start", "v"), ahead)),
        Beyond(I, OWN, add(end("start", "v"), 1)),
        Beyond(I, OWN, add(end("stop", "w"), ahead)),
        Beyond(I, OWN, end("stop", "v")),
    ]

    _, inner, _ = parts_of(wide, tests, 4)

    assert [inner.known[test] for test in tests] == [True, True, False, False]
