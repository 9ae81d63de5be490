"""A plan: what is missing, one build for all, and a time loop in which nothing compiles."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import DomainError
from fieldforge.runtime.process import metrics
from fieldforge.workflows.engine.policy import NotStoredError
from fieldforge.workflows.setups.request import SetUpWarning

from ...dimensions import I, Line
from ...processes import python


@ff.field_operator
def scaled(u: Line, by: ff.float64, twice: bool) -> Line:
    return u * by * by if twice else u * by


@ff.program(backend=ff.cpu)
def scale(u: Line, by: ff.float64, twice: bool, out: Line):
    scaled(u, by, twice, out=out)


@ff.program(backend=ff.cpu)
def shrink(u: Line, by: ff.float64, out: Line):
    scaled(u, by, False, out=out[:-1])


@pytest.fixture
def out():
    return ff.zeros({I: 3})


def set_ups(**more):
    u = ff.as_field([I], [1.0, 2.0, 3.0])
    one = ff.setup(scale, constant_args={"u": u, "by": 3.0}, variants={"twice": [False, True]})
    return one, ff.setup(shrink, constant_args={"u": u, "by": 0.5, **more})


def test_set_ups_wait_for_the_plan_which_builds_all(own_engine, seen, out):
    with ff.plan() as model:
        one, other = set_ups()
    assert seen.ran("compile") == ()
    assert [each.program for each in model.check()] == ["scale", "scale", "shrink"]
    assert "never built" in str(model.check()[0])

    model.build(jobs=2, progress=None)

    assert len(seen.ran("compile")) == 3
    assert model.check() == ()
    with model.loop() as report:
        one(True, out)
        assert np.array_equal(out.asnumpy(), [9.0, 18.0, 27.0])
        other(out)
    assert report.count == 0
    assert str(report) == "Nothing was compiled in the time loop."


def test_set_ups_outside_of_the_block_build_on_their_own(own_engine, out):
    with ff.plan() as model:
        pass
    one, _ = set_ups()

    assert model.steps == []
    one(False, out)


def test_a_plan_builds_in_an_executor(own_engine, out):
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ff.plan() as model:
        one, _ = set_ups()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        model.build(executor=executor, progress=None)

    with model.loop():
        one(True, out)
    assert np.array_equal(out.asnumpy(), [9.0, 18.0, 27.0])


def test_all_errors_come_in_one_group(own_engine):
    with ff.plan() as model:
        set_ups(out=ff.zeros({I: 9}))

    with pytest.raises(ExceptionGroup, match="1 set-ups are not ready") as caught:
        model.build(progress=None)

    error = caught.value.exceptions[0]
    assert isinstance(error, DomainError)
    assert "'u' is too small" in str(error)
    assert error.__notes__ == ["While compiling 'shrink'."]


def test_a_compile_in_the_loop_is_an_error_that_names_program_argument_and_value(own_engine, out):
    with ff.plan() as model:
        u = ff.as_field([I], [1.0, 2.0, 3.0])
        step = ff.setup(scale, constant_args={"u": u}, variants={"twice": [True]}, static_args=())
    model.build(progress=None)
    loose = scale.with_static_params("by", "twice")
    loose.build(by=[2.0], twice=[True])

    with model.loop():
        step(2.0, True, out)
        with pytest.raises(NotStoredError, match=r"'scale' is not .*needed for 'by' = 3.0 .compil"):
            loose(u, 3.0, True, out)


def test_compiles_in_the_loop_are_counted_and_told(own_engine, out, setting):
    sources = dict(metrics.sources)
    setting(collect_metrics=metrics.MINIMAL)
    loose = scale.with_static_params("by")
    try:
        with pytest.warns(SetUpWarning, match=r"2 variants were compiled.*\n  scale: 2 in "):
            report = looped(lambda by: loose(ff.ones({I: 3}), by, False, out))
        source = metrics.sources["scale<compiled in the time loop>"]
        assert report.count == source.metadata["compiles"] == 2
        assert source.metrics["compile"].samples == [report.seconds["scale"]]
    finally:
        metrics.sources.clear()
        metrics.sources.update(sources)


def test_the_log_at_exit_has_the_total_of_all_loops(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import fieldforge as ff\n"
        "I = ff.Dimension('I')\n"
        "Line = ff.Field[ff.Dims[I], ff.float64]\n"
        "@ff.field_operator\n"
        "def scaled(u: Line, by: float) -> Line:\n"
        "    return u * by\n"
        "@ff.program(backend=ff.cpu)\n"
        "def scale(u: Line, by: float, out: Line):\n"
        "    scaled(u, by, out=out)\n"
        "u, out = ff.ones({I: 3}), ff.zeros({I: 3})\n"
        "loose = scale.with_static_params('by')\n"
        "with ff.plan().loop('may_build'):\n"
        "    loose(u, 2.0, out)\n"
        "with ff.plan().loop('may_build'):\n"
        "    loose(u, 3.0, out)\n"
        "with ff.plan().loop():\n"
        "    loose(u, 3.0, out)\n"
    )
    variables = {"FIELDFORGE_LOG": "warning", "FIELDFORGE_CACHE_DIR": str(tmp_path / "store")}

    done = python(script, check=True, env=variables)

    (line,) = [
        each for each in (done.stdout + done.stderr).splitlines() if "loops.compiled" in each
    ]
    assert "programs='scale: 2'" in line
    assert "variants=2" in line


def looped(call):
    with ff.plan().loop("may_build") as report:
        for by in (2.0, 3.0, 2.0):
            call(by)
    return report
