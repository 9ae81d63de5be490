"""What builds may do: compile nothing in a time loop, load nothing where it cannot run."""

import json

import pytest

import fieldforge as ff
from fieldforge.runtime.process.errors import OptionError
from fieldforge.workflows.engine.policy import NotLoadedError, NotStoredError, current_policy
from fieldforge.workflows.engine.trace_file import tracing

from ...dimensions import I, Line

pytestmark = pytest.mark.needs_compiler


@pytest.fixture
def rise(own_engine):
    @ff.field_operator(backend=ff.cpu)
    def rise(u: Line) -> Line:
        return u(I + 1) - u

    return rise


def call(program):
    out = ff.zeros({I: 2})
    program(ff.as_field([I], [1.0, 3.0, 6.0]), out=out)
    return list(out.asnumpy())


def test_check_lists_every_missing_variant_and_runs_nothing(rise, seen):
    other = rise.with_backend(ff.cpu.with_options(fold=False))
    ff.precompile([rise], progress=None)
    seen.events.clear()

    (missing,) = ff.check([rise, other])

    assert (missing.program, missing.stage) == ("rise", "lower")
    assert [str(each) for each in missing.changed] == ["lower.option.fold: True -> False"]
    assert "option 'fold' of stage 'lower' changed from True to False" in str(missing)
    assert seen.ran() == ()


def test_check_of_a_program_that_was_never_built_says_so(rise):
    (missing,) = ff.check([rise])

    assert str(missing).endswith("'rise' was never built into this store.")


def test_what_is_only_built_is_stored_and_not_loaded(rise, seen):
    with ff.policy("build_only"):
        ff.precompile([rise], progress=None)
        with pytest.raises(NotLoadedError, match="called while the policy 'build_only' is active"):
            call(rise)

    assert "decorate" not in seen.ran()
    assert ff.check([rise]) == ()
    assert call(rise) == [2.0, 3.0]
    assert seen.ran("compile") == ("compile",)


def test_the_innermost_policy_counts():
    with ff.policy("must_hit"):
        with ff.policy("may_build"):
            assert current_policy() == "may_build"
        assert current_policy() == "must_hit"
    assert current_policy() == "may_build"


def test_a_policy_that_nobody_knows_is_refused():
    with pytest.raises(OptionError, match="There is no policy 'must_hits'"), ff.policy("must_hits"):
        pass


def test_a_trace_has_a_bar_for_every_stage_that_ran(rise, tmp_path):
    with tracing(tmp_path / "trace.json"):
        ff.precompile([rise], progress=None)

    rows = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    bars = {row["cat"]: row for row in rows if row["ph"] == "X" and row["args"]["outcome"] == "ran"}
    assert {"lower", "codegen", "compile", "bind"} <= set(bars)
    assert bars["lower"]["ts"] + bars["lower"]["dur"] <= bars["codegen"]["ts"]
    assert bars["compile"]["name"] == "compile rise"
    assert [row["args"] for row in rows if row["ph"] == "M"] == [{"name": "caller"}]


def test_a_trace_shows_how_long_a_stored_result_took_to_build(rise):
    ff.precompile([rise], progress=None)
    first = {name: step.build_seconds for name, step in rise.trace().items()}

    with ff.using(ff.Engine(ff.engine().store)):
        again = rise.trace()

    assert again["compile"].outcome == "disk"
    assert again["compile"].build_seconds == pytest.approx(first["compile"], abs=1e-5)
    assert again["compile"].build_seconds > again["compile"].seconds


@pytest.fixture
def upper(own_engine):
    @ff.field_operator(backend=ff.cpu)
    def upper(u: Line, is_last: ff.Field[ff.Dims[I], bool]) -> Line:
        return ff.where(is_last, 0.0, u(I + 1))

    return upper


def call_beyond(program):
    out = ff.zeros({I: 3})
    is_last = ff.as_field([I], [False, False, True])
    program(ff.as_field([I], [1.0, 3.0, 6.0]), is_last, out=out)
    return list(out.asnumpy())


def test_the_first_call_that_reads_beyond_a_field_builds_what_it_runs(upper, seen):
    inside = ff.as_field([I], [1.0, 3.0, 6.0, 7.0])
    upper(inside, ff.as_field([I], [False, False, True]), out=ff.zeros({I: 3}))
    usual = seen.ran().count("compile")
    results = [call_beyond(upper) for _ in range(2)]

    assert results == [[3.0, 6.0, 0.0]] * 2
    assert (usual, seen.ran().count("compile")) == (1, 2)


def test_all_that_calls_run_is_built_before_them(upper, seen):
    ff.precompile([upper], progress=None)

    assert ff.check([upper]) == ()
    with ff.policy("must_hit"):
        assert call_beyond(upper.with_backend("cpu")) == [3.0, 6.0, 0.0]


def test_a_call_that_reads_beyond_a_field_is_refused_where_it_may_not_build(upper, seen):
    upper.compile()
    ff.wait_for_compilation()

    with (
        ff.policy("must_hit"),
        pytest.raises(NotStoredError, match="It is needed for a call that reads beyond a field"),
    ):
        call_beyond(upper)
    (missing,) = ff.check([upper])
    assert missing.stage == "lower"
