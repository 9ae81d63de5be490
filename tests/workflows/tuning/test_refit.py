"""Costs are found again from the seconds that they make."""

import numpy as np
import pytest

from fieldforge.stages.codegen.plan.cpu_seconds import CpuFacts
from fieldforge.stages.codegen.plan.machine import EPYC, H200, XEON
from fieldforge.stages.codegen.plan.seconds import seconds_of
from fieldforge.workflows.tuning.refit import Pair, costs_of, errors_of, refitted, with_costs


def pairs_for(machine):
    """Return plans that do a hundred times as much of one thing as others, and their seconds."""
    numbers = np.random.default_rng(3)
    found = []
    for place in range(80):
        bytes_ = {link.name: 10 ** numbers.uniform(3, 7) for link in machine.links}
        amounts = {name: 10 ** numbers.uniform(3, 5) for name in machine.costs}
        facts = [CpuFacts(1, bytes_, amounts)]
        found.append(Pair(str(place % 8), facts, seconds_of(facts, machine)))
    return found


def test_costs_are_found_again():
    true = with_costs(EPYC, {"rows": 3 * EPYC.costs["rows"], "memory.one": 8e9})
    pairs = pairs_for(true)

    found = refitted(pairs, EPYC)

    before, after = errors_of(pairs, EPYC), errors_of(pairs, found)
    assert after[0] < 0.5 * before[0]
    assert after[1] < 0.5 * before[1]
    assert 2 < costs_of(found)["rows"] / EPYC.costs["rows"] < 4.5


@pytest.mark.parametrize("machine", [EPYC, XEON, H200])
def test_every_cost_can_be_set(machine):
    doubled = {name: 2 * cost for name, cost in costs_of(machine).items()}

    assert costs_of(with_costs(machine, doubled)) == doubled
