from concurrent.futures import ThreadPoolExecutor

import pytest

from fieldforge.workflows.engine.executors import Serial, pool
from fieldforge.workflows.engine.schedule import drive
from fieldforge.workflows.graph.graph import Workflow

from ..stand_ins import Measure, Read, Sort, Total

CHAIN = Workflow.chain(Read(), Sort(), Measure(), Total())


@pytest.mark.parametrize("jobs", [1, 4])
def test_steps_run_after_what_feeds_them(jobs):
    begun = []

    with pool(jobs) as executor:
        drive(CHAIN.plan, lambda step: begun.append(step.name), executor)

    assert begun == ["read", "sort", "measure", "total"]


def test_error_is_raised_and_nothing_more_begins():
    begun = []

    def work(step):
        begun.append(step.name)
        if step.name == "sort":
            raise ValueError("no")

    with ThreadPoolExecutor(2) as executor, pytest.raises(ValueError, match="no"):
        drive(CHAIN.plan, work, executor)

    assert begun == ["read", "sort"]


def test_interrupt_is_not_swallowed_by_a_serial_executor():
    def work(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive(CHAIN.plan, work, Serial())
