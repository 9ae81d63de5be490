"""Calls run on the first tier until compiled code is there."""

import gc
import os
import threading
import time
import warnings
import weakref

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime import _core
from fieldforge.runtime.process import metrics
from fieldforge.runtime.process.errors import CompilationError, CompilerNotFoundError
from fieldforge.stages.encode.stage import Encode
from fieldforge.workflows.builds import call_builds
from fieldforge.workflows.builds.call_builds import FirstTierWarning
from fieldforge.workflows.engine.events import TierChanged, Warned
from fieldforge.workflows.engine.policy import NotLoadedError, NotStoredError
from fieldforge.workflows.tuning.subject import make_subject
from fieldforge.workflows.variants.builds import NotCompiledError

from ...dimensions import I, K, Line

pytestmark = pytest.mark.needs_compiler

Plane = ff.Field[ff.Dims[I, K], ff.float64]
NEVER = 1e6  # seconds


@pytest.fixture
def tiers(own_engine, setting):
    """Let calls run on both tiers; the build begins with the first call."""
    setting(tiers="both", build_after=0.0)
    yield
    for thread in threading.enumerate():
        if thread.name == call_builds.THREAD:
            thread.join()
    call_builds._known.clear()


@pytest.fixture
def warm(tiers):
    """Return a program with an array between its statements."""

    @ff.field_operator
    def mean(u: Line) -> Line:
        return 0.5 * (u(I - 1) + u(I + 1))

    @ff.field_operator
    def sharp(u: Line) -> Line:
        m = mean(mean(u))
        return u - 0.3 * (m(I - 1) * m(I + 1))

    @ff.program(backend=ff.cpu)
    def warm(u: Line, out: Line):
        sharp(u, out=out)

    return warm


@pytest.fixture
def gate(tmp_path):
    """Return a compiler that waits until a file is there, and that file."""
    opened = tmp_path / "open"
    cxx = tmp_path / "slow-c++"
    cxx.write_text(
        f'#!/bin/sh\ncase "$*" in *-shared*) while [ ! -e {opened} ]; do sleep 0.01; done;; esac\n'
        'exec c++ "$@"\n'
    )
    cxx.chmod(0o755)
    yield str(cxx), opened
    opened.touch()


def fields(n=40):
    random = np.random.default_rng(7)
    return ff.as_field({I: (-3, n + 3)}, random.random(n + 6)), ff.zeros({I: n})


def on_first_tier(program):
    return [entry.first_tier is not None for entry in program.entries]


def wait_until(true):
    while not true():
        time.sleep(0.005)


def test_the_first_call_runs_while_the_compiler_works_and_later_ones_take_its_code(
    warm, gate, seen
):
    cxx, opened = gate
    program = warm.with_backend(ff.cpu.with_options(cxx=cxx))
    u, out = fields()

    program(u, out)

    first = out.asnumpy().copy()
    assert on_first_tier(program) == [True]
    assert "runs on the first tier, and builds after 0 s: 1 call of" in program.variants
    opened.touch()
    wait_until(lambda: on_first_tier(program) == [False])
    out.ndarray[...] = 0.0
    program(u, out)
    assert out.asnumpy().tobytes() == first.tobytes()
    assert "compiled after 1 call of" in program.variants
    assert [event.calls for event in seen.events if isinstance(event, TierChanged)] == [1]


def test_the_build_begins_once_calls_have_run_long_enough(warm, seen):
    program = warm.with_backend(ff.cpu.with_options(build_after=NEVER))
    u, out = fields()

    for _ in range(3):
        program(u, out)

    assert on_first_tier(program) == [True]
    assert program.entries[0].first_tier[0] == 3
    assert "compile" not in seen.ran()
    ff.wait_for_compilation()
    assert on_first_tier(program) == [False]


def test_waiting_waits_for_the_builds_of_calls(warm):
    u, out = fields()
    warm(u, out)

    ff.wait_for_compilation()

    assert on_first_tier(warm) == [False]
    ff.wait_for_compilation()


def test_stored_code_is_taken_at_once(warm, seen):
    ff.precompile([warm], progress=None)
    again = warm.with_backend("cpu")
    u, out = fields()

    again(u, out)

    assert on_first_tier(again) == [False]
    assert "encode" not in seen.ran()


def test_what_is_compiled_waits(warm):
    u, out = fields()

    warm.compile()
    warm(u, out)

    assert on_first_tier(warm) == [False]


def test_compiling_replaces_the_first_tier(warm, seen):
    program = warm.with_backend(ff.cpu.with_options(build_after=NEVER))
    u, out = fields()
    program(u, out)

    program.build()

    assert on_first_tier(program) == [False]
    assert len([event for event in seen.events if isinstance(event, TierChanged)]) == 1


def test_bound_and_recorded_calls_change_tiers(warm):
    u, out = fields()
    bound = warm.bind(u=u, out=out)
    bound()
    first = out.asnumpy().copy()
    with ff.record() as step:
        bound()
        warm(u, out)
    ff.wait_for_compilation()

    for call in (bound, step, bound.call):
        out.ndarray[...] = 0.0
        call()
        assert out.asnumpy().tobytes() == first.tobytes()
    assert on_first_tier(warm) == [False]


def test_recorded_calls_run_on_the_first_tier_too(warm):
    program = warm.with_backend(ff.cpu.with_options(build_after=NEVER))
    u, out = fields()
    with ff.record() as step:
        program(u, out)
    first = out.asnumpy().copy()
    out.ndarray[...] = 0.0

    with ff.workspace(ff.zeros({I: 1})):
        step()

    assert program.entries[0].first_tier[0] == 2
    assert out.asnumpy().tobytes() == first.tobytes()


def test_threads_and_workspaces_of_compiled_code_serve(tiers):
    @ff.field_operator
    def ratio(u: Plane) -> Plane:
        a = u * u + 1.0
        b = (a(I - 1) + a(I + 1)) / (a(K - 1) + a(K + 1))
        return b(I - 1) * b(I + 1) + b(K - 1) / b(K + 1)

    @ff.program(backend=ff.cpu.with_options(build_after=NEVER))
    def ratios(u: Plane, out: Plane):
        ratio(u, out=out)

    u = ff.as_field({I: (-2, 66), K: (-2, 34)}, np.random.default_rng(1).random((68, 36)))
    out = ff.zeros({I: 64, K: 32})
    size = ratios.workspace_size(u, out)

    ratios.with_workspace(np.empty(64, np.uint8))(u, out)

    first = out.asnumpy().copy()
    ratios.with_threads(1)(u, out)
    assert on_first_tier(ratios) == [True]
    assert out.asnumpy().tobytes() == first.tobytes()
    ratios.build()
    ratios.with_workspace(np.empty(size + 64, np.uint8))(u, out)
    assert out.asnumpy().tobytes() == first.tobytes()


@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_a_layout_that_is_new_runs_at_once(tiers, order):
    @ff.field_operator(backend=ff.cpu.with_options(build_after=NEVER))
    def smooth(u: Plane) -> Plane:
        return u(I - 1) + u(K + 1) * 0.25

    values = np.random.default_rng(2).random((12, 18))
    given = np.asarray(values, order="F") if order == "F" else values
    given = np.repeat(values, 2, axis=1)[:, ::2] if order == "strided" else given
    out = ff.zeros({I: (1, 12), K: 17})

    smooth(ff.as_field({I: 12, K: 18}, given), out=out)
    first = out.asnumpy().copy()
    ff.wait_for_compilation()
    smooth(ff.as_field({I: 12, K: 18}, given), out=out)

    assert np.array_equal(out.asnumpy(), first)
    assert np.allclose(first, values[:-1, :-1] + values[1:, 1:] * 0.25, rtol=1e-15)


def test_threads_call_while_tiers_change(warm, gate):
    cxx, opened = gate
    program = warm.with_backend(ff.cpu.with_options(cxx=cxx))
    u, out = fields()
    program(u, out)
    wanted = out.asnumpy().tobytes()
    wrong, calls = [], [0] * 4

    def work(place):
        own = ff.zeros({I: 40})
        bound = program.bind(u=u, out=own)
        while on_first_tier(program) == [True] or calls[place] < 50:
            own.ndarray[...] = 0.0
            (bound if calls[place] % 2 else lambda: program(u, own))()
            calls[place] += 1
            if own.asnumpy().tobytes() != wanted:
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: all(count > 5 for count in calls))
    opened.touch()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert on_first_tier(program) == [False]


def test_checked_calls_wait(warm):
    u, out = fields()

    warm.checked(u, out)

    assert "calls are checked" in warm._checks.compiled.variants


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"numerics": "fast"}, "lets the compiler choose the bits"),
        ({"mathematics": "library"}, "takes the functions of a library"),
        ({"compile.flags": ("-O2",)}, "has flags of the user"),
    ],
)
def test_options_that_change_bits_wait(warm, options, why):
    program = warm.with_backend(ff.cpu.with_options(**options))
    u, out = fields()

    program(u, out)

    assert on_first_tier(program) == [False]
    assert why in program.variants


def test_functions_without_an_instruction_wait(tiers):
    @ff.field_operator(backend=ff.cpu)
    def wave(u: Line) -> Line:
        return ff.sin(u)

    u, out = fields()

    wave(u, out=out)

    assert "no first tier: No instruction has the values of a vectorised 'sin'." in wave.variants


@pytest.mark.parametrize("backend", [ff.dace_cpu, ff.gpu_host])
def test_other_backends_have_one_tier(warm, backend, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "fieldforge.workflows.variants.builds.Variants.entry",
        lambda self, variant, provider: asked.append(variant) or 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        warm.with_backend(backend)(*fields())

    assert len(asked) == 1


def test_policies_are_no_business_of_the_first_tier(warm):
    u, out = fields()

    with ff.policy("must_hit"), pytest.raises(NotStoredError):
        warm(u, out)
    with ff.policy("build_only"), pytest.raises(NotLoadedError):
        warm(u, out)
    with pytest.raises(NotCompiledError):
        warm(u, out, enable_jit=False)

    assert warm.entries == ()


def test_a_build_goes_on_while_a_time_loop_must_hit(warm, gate):
    cxx, opened = gate
    program = warm.with_backend(ff.cpu.with_options(cxx=cxx))
    u, out = fields()
    program(u, out)

    with ff.policy("must_hit"):
        opened.touch()
        wait_until(lambda: on_first_tier(program) == [False])
        program(u, out)


def test_the_option_comes_before_the_setting(warm, seen):
    u, out = fields()
    compiled = warm.with_backend(ff.cpu.with_options(tiers="compiled"))
    rows = warm.with_backend(ff.cpu.with_options(tiers="rows"))

    rows(u, out)
    ff.wait_for_compilation()
    assert on_first_tier(rows) == [True]
    assert "as option 'tiers' says" in rows.variants
    assert "compile" not in seen.ran()
    compiled(u, out)
    assert on_first_tier(compiled) == [False]
    assert "tier" not in compiled.variants


def test_without_jobs_calls_build_themselves(warm, setting):
    setting(jobs=0)
    u, out = fields()

    warm(u, out)

    assert on_first_tier(warm) == [False]


def test_a_build_that_fails_leaves_the_first_tier_and_is_reported_once(warm, tmp_path, seen):
    cxx = tmp_path / "broken-c++"
    cxx.write_text('#!/bin/sh\ncase "$*" in *-shared*) echo broken; exit 1;; esac\nexec c++ "$@"\n')
    cxx.chmod(0o755)
    program = warm.with_backend(ff.cpu.with_options(cxx=str(cxx)))
    u, out = fields()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        program(u, out)
        wait_until(lambda: "its build failed" in program.variants and told)
        for _ in range(20):
            program(u, out)

    assert [each.category for each in told] == [FirstTierWarning]
    assert "'warm' stays on the first tier, because it is not built" in str(told[0].message)
    assert len([event for event in seen.events if isinstance(event, Warned)]) == 1
    assert on_first_tier(program) == [True]
    ff.wait_for_compilation()
    with pytest.raises(CompilationError):
        program.build()


def test_who_waits_gets_the_error(warm, tmp_path):
    cxx = tmp_path / "broken-c++"
    cxx.write_text('#!/bin/sh\ncase "$*" in *-shared*) exit 1;; esac\nexec c++ "$@"\n')
    cxx.chmod(0o755)
    program = warm.with_backend(ff.cpu.with_options(cxx=str(cxx), build_after=NEVER))
    program(*fields())

    with pytest.raises(CompilationError):
        ff.wait_for_compilation()


def test_without_a_compiler_everything_runs_and_one_warning_says_so(warm, monkeypatch):
    monkeypatch.setattr(call_builds, "_warned", [])
    nowhere = ff.cpu.with_options(cxx="/nowhere/c++")
    u, out = fields()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for program in (warm.with_backend(nowhere), warm.with_backend(nowhere)):
            program(u, out)
            program(u, out)
            assert on_first_tier(program) == [True]
            assert "because there is no compiler" in program.variants

    assert [each.category for each in told] == [FirstTierWarning]
    with pytest.raises(CompilerNotFoundError):
        program.build()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_observer_that_raises_ends_no_later_build(warm, own_engine, tmp_path):
    cxx = tmp_path / "broken-c++"
    cxx.write_text('#!/bin/sh\ncase "$*" in *-shared*) exit 1;; esac\nexec c++ "$@"\n')
    cxx.chmod(0o755)
    told = threading.Event()

    def raising(event):
        if isinstance(event, Warned):
            told.set()
            raise RuntimeError("an observer")

    with ff.using(attrs.evolve(own_engine, observers=[raising])):
        warm.with_backend(ff.cpu.with_options(cxx=str(cxx)))(*fields())
        assert told.wait(60)
    wait_until(lambda: not call_builds._under_way)
    u, out = fields()
    warm(u, out)

    wait_until(lambda: on_first_tier(warm) == [False])


def test_measured_calls_wait(warm):
    u, out = fields()

    call = make_subject(warm, {"u": u, "out": out}).call(ff.cpu)
    call()

    assert on_first_tier(call.__self__.program) == [False]


def test_dropped_variants_are_not_built(warm, seen):
    program = warm.with_backend(ff.cpu.with_options(build_after=NEVER))
    u, out = fields()
    program(u, out)

    assert program.drop_variants() == 1
    ff.wait_for_compilation()

    assert program.entries == ()
    assert "compile" not in seen.ran()


def test_a_program_on_the_first_tier_is_freed(warm):
    program = warm.with_backend(ff.cpu.with_options(build_after=NEVER))
    program(*fields())
    entry = weakref.ref(program)

    del program
    gc.collect()

    assert entry() is None


def test_metrics_keep_tiers_apart(warm, setting):
    setting(collect_metrics=metrics.PERFORMANCE)
    metrics.sources.clear()
    try:
        u, out = fields()
        warm(u, out)
        ff.wait_for_compilation()
        warm(u, out)
        tiers = {key: source.metadata["tier"] for key, source in metrics.sources.items()}
    finally:
        metrics.sources.clear()

    assert sorted(tiers.values()) == ["compiled", "rows"]
    assert all(key.endswith(" rows") == (tier == "rows") for key, tier in tiers.items())


def exit_of_child(work):
    """Run `work` in a forked child that ends as `multiprocessing` lets it; return its status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads in the parent
        child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 1
            threading._shutdown()
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="The platform has no processes to fork.")
def test_a_forked_child_stays_on_the_first_tier_if_its_parent_was_building(warm, gate):
    cxx, opened = gate
    program = warm.with_backend(ff.cpu.with_options(cxx=cxx))
    u, out = fields()
    program(u, out)
    wait_until(lambda: call_builds._under_way)

    def work():
        opened.touch()
        for _ in range(50):
            program(u, out)
        return on_first_tier(program) == [True] and not call_builds._under_way

    assert exit_of_child(work) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="The platform has no processes to fork.")
def test_a_forked_child_builds_if_its_parent_was_not_building(warm):
    program = warm.with_backend(ff.cpu.with_options(build_after=1e-7))
    u, out = fields()

    def work():
        program(u, out)
        wait_until(lambda: on_first_tier(program) == [False])
        return True

    assert exit_of_child(work) == 0


def test_only_rows_are_a_first_tier(warm):
    warm.build()
    compiled = warm.entries[0]

    with pytest.raises(ValueError, match="Only rows are a first tier"):
        _core.Entry(compiled.plan, compiled.address, None, ask=print)
    with pytest.raises(ValueError, match="does not have the entry to replace"):
        _core.Program("p", ("u", "out"), print, print).replace(compiled, compiled)


def test_a_loop_that_may_build_builds_at_once(warm):
    u, out = fields()

    with ff.policy("may_build"):
        warm(u, out)

    assert on_first_tier(warm) == [False]


def test_what_the_first_tier_lacks_waits(warm, monkeypatch):
    monkeypatch.setattr(Encode, "run", lambda self, **given: {}["an instruction"])
    u, out = fields()

    warm(u, out)

    assert on_first_tier(warm) == [False]
    assert "no first tier: 'an instruction'" in warm.variants
