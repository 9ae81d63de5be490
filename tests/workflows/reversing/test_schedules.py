"""Schedules of checkpoints as actions: as few steps as the optimum has, places within limits."""

import sys

import pytest

from fieldforge.runtime.process.errors import MissingPackageError
from fieldforge.workflows.reversing.schedules import (
    Forward,
    Keep,
    Reverse,
    Take,
    actions_of,
    forward_steps,
)


def test_without_a_number_all_states_are_kept():
    assert actions_of(2, None, 0) == (
        Keep(0, "memory"),
        Forward(0, 1),
        Keep(1, "memory"),
        Reverse(2, 0),
    )


def test_a_thousand_steps_with_twenty_checkpoints_are_the_optimum():
    schedules = pytest.importorskip("checkpoint_schedules", reason="the extra 'adjoint'")

    actions = actions_of(1000, 20, 0)

    optimum = schedules.multistage.optimal_steps_binomial(1000, 20)
    assert forward_steps(actions) == optimum - 1000 == 2747
    kept, most = set(), 0
    for each in actions:
        if isinstance(each, Keep):
            kept.add(each.number)
        elif isinstance(each, Take) and each.forget:
            kept.remove(each.number)
        most = max(most, len(kept))
    assert (most, kept) == (20, set())


def test_the_package_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "checkpoint_schedules", None)

    with pytest.raises(MissingPackageError, match="'checkpoint_schedules' is not installed"):
        actions_of(10, 3, 0)

    assert len(actions_of(3, 5, 0)) == 6
