"""Section 3.5: constants in a namespace."""

import copy
import pickle

import pytest

from fieldforge.runtime.language.namespace import FrozenNamespace

CONSTANTS = FrozenNamespace(G=9.81, LEVELS=80)


def test_3_5_constants_are_read_by_name():
    assert (CONSTANTS.G, CONSTANTS.LEVELS) == (9.81, 80)
    assert not hasattr(CONSTANTS, "PI")


def test_3_5_constants_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot set 'G'"):
        CONSTANTS.G = 10.0
    with pytest.raises(AttributeError, match="cannot delete 'G'"):
        del CONSTANTS.G


def test_3_5_equal_constants_are_equal_namespaces():
    same = FrozenNamespace(LEVELS=80, G=9.81)

    assert same == CONSTANTS
    assert hash(same) == hash(CONSTANTS)
    assert pickle.loads(pickle.dumps(CONSTANTS)) == CONSTANTS
    assert copy.deepcopy(CONSTANTS) == CONSTANTS
