"""A build beyond its budget is told of, with what took the time, and never fails."""

import pytest

import fieldforge as ff
from fieldforge.errors import OptionError
from fieldforge.runtime.process.settings import Settings
from fieldforge.workflows.builds.building import excess
from fieldforge.workflows.engine.events import Warned
from fieldforge.workflows.engine.handle import Handle, Result

from ...dimensions import I, Line


@ff.field_operator
def risen(u: Line) -> Line:
    return 2.0 * u(I + 1) - u


def rise(**options):
    @ff.program(backend=ff.cpu, **options)
    def rise(u: Line, out: Line):
        risen(u, out=out)

    return rise


def warnings_of(seen):
    return [
        event for event in seen.events if isinstance(event, Warned) and "budget" in event.message
    ]


def test_a_build_within_its_budget_is_not_told_of(own_engine, seen):
    rise(build_budget=1000.0).build()

    assert not warnings_of(seen)


def test_the_stage_and_the_size_of_its_task_are_named(own_engine, seen):
    program = rise(build_budget=0.0)
    out = ff.zeros({I: 2})

    program(ff.ones({I: 3}), out)

    (event,) = warnings_of(seen)
    assert out.asnumpy().tolist() == [1.0, 1.0]
    assert event.stage == "compile"
    assert "0 s are its budget: stage 'compile' took" in event.message
    assert "lines with 1 nest, the largest of them nest 0 with" in event.message


def test_what_the_store_has_takes_no_time(own_engine, seen):
    rise().build()
    rise(build_budget=0.01).build()

    assert not warnings_of(seen)


def test_the_trace_says_it_too(own_engine):
    text = str(rise(build_budget=0.0).trace())

    assert text.splitlines()[-1].startswith("'rise' took ")
    assert "budget" not in str(rise(build_budget=1000.0).trace())


def result(name, seconds, outcome="ran"):
    return Result(name, name, "p", "", outcome, seconds, {}, {"out": Handle.of(None)})


def test_the_slowest_stage_that_ran_is_the_culprit():
    results = {
        each.name: each
        for each in (result("parse", 9.0, "disk"), result("lower", 3.0), result("bind", 1.0))
    }

    late = excess("p", results, 2.0)

    assert late is not None
    assert late.stage == "lower"
    assert late.message == (
        "'p' took 4.00 s to build, 2 s are its budget: stage 'lower' took 3.00 s."
    )
    assert excess("p", results, 4.0) is None


def test_the_budget_of_the_process_is_a_setting():
    assert Settings.from_env({"FIELDFORGE_BUILD_BUDGET": "1.5"}).build_budget == 1.5
    with pytest.raises(OptionError, match="a number of seconds"):
        Settings.from_env({"FIELDFORGE_BUILD_BUDGET": "soon"})
