import dataclasses
from typing import NamedTuple

import pytest

from fieldforge.runtime.language.structure import elements, leaves_of, map_leaves
from fieldforge.runtime.process.errors import ArgumentError


class Wind(NamedTuple):
    u: float
    v: float


@dataclasses.dataclass
class State:
    wind: Wind
    height: float


STATE = State(Wind(1.0, 2.0), 3.0)


def test_collections_are_tuples_in_the_order_of_declaration():
    assert elements(STATE) == (Wind(1.0, 2.0), 3.0)
    assert elements(State) is None
    assert list(leaves_of(STATE)) == [((0, 0), 1.0), ((0, 1), 2.0), ((1,), 3.0)]


def test_the_result_has_the_classes_of_the_first_tree():
    assert map_leaves(lambda a, b: a + b, STATE, ((10, 20), 30)) == State(Wind(11, 22), 33)


@pytest.mark.parametrize("other", [1, (1, 2), ((1, 2, 3), 4), ((1, 2), (3, 4))])
def test_another_structure_is_refused(other):
    with pytest.raises(ArgumentError):
        map_leaves(lambda a, b: a, STATE, other)
