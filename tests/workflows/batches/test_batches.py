"""Batches of real programs: by workers, by any executor, and ended by Ctrl-C without a trace."""

import importlib.util
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.cache.memory import Memory
from fieldforge.runtime.process.errors import CompilationError
from fieldforge.workflows.batches.orders import orders_of
from fieldforge.workflows.batches.precompile import precompile
from fieldforge.workflows.builds import pool as module
from fieldforge.workflows.engine.events import Finished

from ...dimensions import I, Line
from ...sources import names_of

pytestmark = pytest.mark.needs_compiler

TEXT = """
@ff.field_operator
def scaled_{number}(u: Line) -> Line:
    return u(I + 1) * {number}.5
"""


def operators(count, backend=ff.cpu):
    """Make operators of text, as a file would."""
    found = []
    for number in range(count):
        space = names_of(TEXT.format(number=number), ff=ff, Line=Line, I=I)
        found.append(space[f"scaled_{number}"].with_backend(backend))
    return found


def check_results(programs):
    for number, program in enumerate(programs):
        out = ff.zeros({I: 3})
        program(ff.as_field([I], [1.0, 2.0, 3.0, 4.0]), out=out)
        assert list(out.asnumpy()) == [each * (number + 0.5) for each in (2.0, 3.0, 4.0)]


def places(seen, stage="compile"):
    """Return the processes in which a stage ran."""
    events = [each for each in seen.events if isinstance(each, Finished) and each.stage == stage]
    return [event.place[0] for event in events]


@pytest.fixture
def from_the_first(monkeypatch):
    """Take workers for batches of any length."""
    monkeypatch.setattr(module, "FEW", 0)


def test_a_few_programs_are_built_in_this_process(own_engine, seen, monkeypatch):
    monkeypatch.setattr(module, "FEW", 4)
    precompile(operators(2), jobs=2, progress=None)

    assert places(seen) == [os.getpid()] * 2


def test_batches_are_built_by_workers_and_run_here(own_engine, seen, from_the_first):
    programs = operators(4)
    precompile(programs, jobs=2, progress=None)

    assert places(seen, "parse") == [os.getpid()] * 4
    for stage in ("lower", "codegen", "compile"):
        found = places(seen, stage)
        assert len(found) == 4
        assert os.getpid() not in found
    check_results(programs)
    assert all(order.is_stored() for each in programs for order in orders_of(each))


def test_a_store_in_memory_gets_what_workers_have_built(seen, from_the_first):
    programs = operators(2)
    with ff.using(ff.Engine(Memory(), observers=[seen])):
        precompile(programs, jobs=2, progress=None)
        check_results(programs)

    assert len(places(seen)) == 2
    assert os.getpid() not in places(seen)


def test_another_store_can_be_named(tmp_path):
    programs = operators(2)
    store = Disk(tmp_path / "other")

    precompile(programs, store=store, progress=None)

    with ff.using(ff.Engine(store)):
        assert ff.check(programs) == ()


def test_an_error_in_a_worker_names_the_program_and_the_rest_is_built(own_engine, from_the_first):
    programs = operators(3)
    programs[1] = programs[1].with_backend(ff.cpu.with_options(flags=("-no-such-flag",)))

    with pytest.raises(ExceptionGroup) as caught:
        precompile(programs, jobs=2, progress=None)

    (error,) = caught.value.exceptions
    assert isinstance(error, CompilationError)
    assert "-no-such-flag" in error.log
    assert "While compiling 'scaled_1'." in error.__notes__
    assert [each.program for each in ff.check(programs)] == ["scaled_1"]


def test_compile_goes_through_the_same_door(own_engine, seen, from_the_first, monkeypatch):
    programs = operators(3)
    for program in programs:
        program.compile()
    ff.wait_for_compilation()

    assert len(places(seen)) == 3
    assert os.getpid() not in places(seen)
    check_results(programs)


@pytest.mark.parametrize("kind", ["threads", "processes", "dask"])
def test_any_executor_will_do(own_engine, seen, kind):
    if kind == "threads":
        with ThreadPoolExecutor(2) as executor:
            precompile(programs := operators(2), executor=executor, progress=None)
    elif kind == "processes":
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as executor:
            precompile(programs := operators(2), executor=executor, progress=None)
    else:
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(
                1, threads_per_worker=2, processes=True, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            precompile(programs := operators(2), executor=client.get_executor(), progress=None)

    assert len(places(seen)) == 2
    assert (os.getpid() in places(seen)) == (kind == "threads")
    check_results(programs)


SCRIPT = """
import os, sys
import fieldforge as ff
from fieldforge.workflows.builds import pool as module
from fieldforge.workflows.engine.events import Finished

module.FEW = 0
I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

def leave_alone(program):
    return program

{definitions}

def run(executor=None):
    seen = ff.Collector()
    flow = ff.cpu.workflow.insert_after("lower", leave_alone)
    with ff.using(ff.Engine(ff.engine().store, observers=[seen])):
        other = ff.cpu.with_workflow(flow)
        programs = [scaled_0.with_backend(ff.cpu), scaled_1.with_backend(other)]
        ff.precompile(programs, jobs=2, executor=executor, progress=None)
    for event in seen.events:
        if isinstance(event, Finished) and event.stage == "lower":
            print(event.program, "here" if event.place[0] == os.getpid() else "elsewhere")
"""
DEFINITIONS = "".join(TEXT.format(number=number) for number in range(2))
WHERE = ["scaled_0 elsewhere", "scaled_1 here"]


def script(tmp_path, ending):
    path = tmp_path / "model.py"
    path.write_text(SCRIPT.format(definitions=DEFINITIONS) + ending)
    return str(path)


def environment(tmp_path, **more):
    return {**os.environ, "FIELDFORGE_CACHE_DIR": str(tmp_path / "cache"), **more}


def test_a_script_needs_no_guard_and_its_own_passes_run_in_it(tmp_path):
    words = [sys.executable, script(tmp_path, "print('begun')\nrun()\n")]

    done = subprocess.run(
        words, env=environment(tmp_path), capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "begun"
    assert sorted(done.stdout.splitlines()[1:]) == WHERE


@pytest.mark.skipif(
    shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None,
    reason="MPI is not installed",
)
def test_an_executor_of_mpi4py_will_do(tmp_path):
    ending = """
if __name__ == "__main__":
    from mpi4py.futures import MPICommExecutor
    with MPICommExecutor() as executor:
        if executor is not None:
            run(executor)
"""
    more = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    words = ["mpirun", "-n", "2", sys.executable, script(tmp_path, ending)]

    done = subprocess.run(
        words, env=environment(tmp_path, **more), capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[-2000:]
    assert sorted(done.stdout.splitlines()) == WHERE


# --- ends -------------------------------------------------------------------------------------

SLOW = """#!/bin/sh
case "$1" in --version) echo slow; exit;; -print*) exit;; esac
sleep 300 &
echo "$$ $!" >> {log}
wait
"""


def start_slow_builds(tmp_path, few, door="precompile"):
    """Start a script whose compilers never end, and return it once two of them run."""
    log, compiler = tmp_path / "log", tmp_path / "c++"
    compiler.write_text(SLOW.format(log=log))
    compiler.chmod(0o700)
    (tmp_path / "tmp").mkdir()
    ending = f"""
module.FEW = {few}
backend = ff.cpu.with_options(cxx={str(compiler)!r})
programs = [scaled_0.with_backend(backend), scaled_1.with_backend(backend)]
if {door == "precompile"}:
    ff.precompile(programs, jobs=2)
for program in programs:
    program.compile()
ff.wait_for_compilation()
"""
    process = subprocess.Popen(
        [sys.executable, script(tmp_path, ending)],
        env=environment(tmp_path, TMPDIR=str(tmp_path / "tmp")),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    wait_until(lambda: log.exists() and len(log.read_text().splitlines()) == 2)
    return process, [int(pid) for pid in log.read_text().split()]


def wait_until(holds):
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def left_in(folder):
    """Return the files, and the folders of builds, below the system's temporary files."""
    return [each for each in folder.rglob("*") if each.is_file() or each.parent.name == "build"]


@pytest.mark.parametrize(
    ("few", "door"),
    [
        pytest.param(0, "precompile", id="precompile-workers"),
        pytest.param(100, "compile", id="compile-threads"),
        pytest.param(0, "compile", id="compile-workers", marks=pytest.mark.in_full),
        pytest.param(100, "precompile", id="precompile-threads", marks=pytest.mark.in_full),
    ],
)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_ctrl_c_leaves_no_compiler_and_no_file(tmp_path, few, door):
    process, compilers = start_slow_builds(tmp_path, few, door)

    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert b"KeyboardInterrupt" in said
    assert [pid for pid in compilers if is_alive(pid)] == []
    assert left_in(tmp_path / "tmp") == []
    assert list((tmp_path / "cache/v1/tmp").iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_workers_leave_no_compiler_and_no_file_when_their_parent_is_killed(tmp_path):
    process, compilers = start_slow_builds(tmp_path, 0)

    process.kill()
    process.communicate(timeout=60)

    wait_until(lambda: not any(map(is_alive, compilers)))
    wait_until(lambda: not left_in(tmp_path / "tmp"))
