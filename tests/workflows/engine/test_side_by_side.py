"""Steps run beside each other in threads, those of a chain in the caller."""

import threading

import pytest

from fieldforge.workflows.engine.policy import current_policy, policy_of_thread
from fieldforge.workflows.engine.side_by_side import run_side_by_side
from fieldforge.workflows.graph.graph import Workflow

from ..stand_ins import Measure, Read, Sort, Total

CHAIN = Workflow.chain(Read(), Sort(), Measure(), Total())
# one `read`, then two branches
TWO = Workflow.merge(up=CHAIN, down=CHAIN.replace(sort=Sort(backwards=True)))


def names_by_thread(plan, most):
    here = threading.current_thread()
    found = {True: [], False: []}
    run_side_by_side(
        plan, lambda step: found[threading.current_thread() is here].append(step.name), most
    )
    return found[True], found[False]


@pytest.mark.parametrize("most", [1, 4])
def test_a_chain_runs_in_the_caller(most):
    assert names_by_thread(CHAIN.plan, most) == (["read", "sort", "measure", "total"], [])


def test_one_thread_runs_all_in_order():
    assert names_by_thread(TWO.plan, 1) == ([step.name for step in TWO.plan], [])


def test_branches_run_at_the_same_time_and_in_the_context_of_the_caller():
    meeting = threading.Barrier(2, timeout=20)
    seen = []

    def work(step):
        if step.name != "read":
            meeting.wait()  # breaks unless each step of one branch meets one of the other
        seen.append((step.name, current_policy(), threading.current_thread().name))

    with policy_of_thread("build_only"):
        run_side_by_side(TWO.plan, work, 2)

    assert sorted(name for name, _, _ in seen) == sorted(step.name for step in TWO.plan)
    assert {policy for _, policy, _ in seen} == {"build_only"}
    own = threading.current_thread().name
    assert {name for _, _, name in seen} == {own, f"{own}-stage"}
    assert next(name for step, _, name in seen if step == "up.sort") == own


def test_the_first_error_in_the_order_of_the_plan_is_raised_and_nothing_more_begins():
    meeting, begun = threading.Barrier(2, timeout=20), []

    def work(step):
        begun.append(step.name)
        if step.name.endswith("sort"):
            meeting.wait()
            raise ValueError(step.name)

    with pytest.raises(ValueError, match=f"^{next(s.name for s in TWO.plan if 'sort' in s.name)}$"):
        run_side_by_side(TWO.plan, work, 2)

    assert sorted(begun) == ["down.sort", "read", "up.sort"]


def test_an_interrupt_of_the_caller_ends_the_run_and_leaves_no_thread():
    here, begun = threading.current_thread(), []
    meeting = threading.Barrier(2, timeout=20)

    def work(step):
        begun.append(step.name)
        if step.name.endswith("sort"):
            meeting.wait()
            if threading.current_thread() is here:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_side_by_side(TWO.plan, work, 2)

    assert begun.count("up.measure") == 0  # the other branch may be a step further
    assert not [each for each in threading.enumerate() if each.name.endswith("-stage")]
