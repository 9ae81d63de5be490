"""Give every run of the tests a store of its own, so that none reads or writes the user's.

It also lets Python keep bytecode, whatever the environment says: hundreds of processes that tests
start import the same modules, and compiling those takes longer than most of what they test.

pytest loads this file before any test, also before the examples in `src`, `docs` and README.md.
Subprocesses and the workers of pytest-xdist inherit the environment that it sets.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import itertools
import linecache
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

KEPT = (
    "FIELDFORGE_CXX",
    "FIELDFORGE_GPU",
    "FIELDFORGE_JOBS",
)  # what the machine has, not what the user prefers
MEMORY = Path("/dev/shm")
ENOUGH = 4 << 30  # bytes; a run writes less than one GiB
PREFIX = "fieldforge-tests-"
TESTS_BETWEEN = 500
OBJECTS_BETWEEN = 10_000  # new ones between two collections; Python's own 700 cost 2 % of a run
# Files with subclasses of DaCe's classes: they import it, also where only examples are looked for.
OF_DACE = ("generators.py", "cpu/maps.py", "gpu/kernels.py")
collect_ignore_glob = [
    f"*codegen/dace/{name}" for name in OF_DACE if importlib.util.find_spec("dace") is None
]
_folders: list[Path] = []
_finished = itertools.count(1)


def _isolate() -> None:
    """Replace the user's settings by a temporary store; it goes when the run ends."""
    memory = _memory()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=memory))
    _folders.append(folder)
    if memory:
        _sweep(memory)
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))  # where `tmp_path` lies
    for name in [name for name in os.environ if name.startswith("FIELDFORGE_")]:
        if name not in KEPT:
            del os.environ[name]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads spin while NumPy is imported
    os.environ["FIELDFORGE_TIERS"] = "compiled"  # what a call runs depends on no clock; see 0039
    os.environ["FIELDFORGE_CACHE_DIR"] = str(folder / "store")
    os.environ["FIELDFORGE_LOCAL_DIR"] = str(folder / "local")
    os.environ["XDG_CACHE_HOME"] = str(folder / "user")  # for tests that set no folder at all


def _memory() -> Path | None:
    """Return a folder in memory if there is room and the user named no other (TMPDIR).

    Tests make and remove thousands of folders; some disks take milliseconds to remove one.
    """
    if os.environ.get("TMPDIR") or not os.access(MEMORY, os.W_OK):
        return None
    found = os.statvfs(MEMORY)
    has_room = found.f_bavail * found.f_frsize >= ENOUGH
    return MEMORY if has_room and not found.f_flag & os.ST_NOEXEC else None


def _sweep(memory: Path) -> None:
    """Give back the memory of runs that were killed; only their user can."""
    for folder in memory.glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def pytest_collection() -> None:
    """Collect no garbage while tests are collected: what they make then stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let `gc.collect()` in a test look at the test's objects, not at all tests and modules."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN)
    gc.enable()


def pytest_runtest_logfinish() -> None:
    """Let `gc.collect()` ignore what the tests so far keep: programs, reports, caches."""
    if next(_finished) % TESTS_BETWEEN == 0:
        gc.collect()
        gc.freeze()


def pytest_unconfigure() -> None:
    """Remove the store of the run."""
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs DaCe where its extra is not installed; start doctests with no known lines.

    A doctest asks the disk for each file whose lines are known: its debugger is reset.
    """
    if isinstance(item, pytest.DoctestItem):
        linecache.clearcache()
    if item.get_closest_marker("needs_dace") and not _has_dace():
        pytest.skip("the extra 'dace' is not installed")


@functools.cache
def _has_dace() -> bool:
    from fieldforge.stages.codegen.dace.settings import DaceNotFoundError, dace_version

    try:
        dace_version()
    except DaceNotFoundError:
        return False
    return True


@pytest.fixture(scope="session", autouse=True)
def _builds_in_threads() -> Iterator[None]:
    """Start no worker for a dozen builds, because it imports fieldforge first; some tests do."""
    from fieldforge.workflows.builds import pool

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "FEW", 100)
        yield


@pytest.fixture(autouse=True)
def _own_settings() -> Iterator[None]:
    """Give every test the settings of the run, whatever the tests before it have set."""
    from fieldforge.runtime.process import settings

    before = settings.current()
    yield
    if settings.current() is not before:
        settings.set_current(before)


@pytest.fixture
def setting() -> Callable[..., None]:
    """Return a function that changes settings until the test ends: `setting(jobs=2)`."""
    import attrs

    from fieldforge.runtime.process import settings

    return lambda **changes: settings.set_current(attrs.evolve(settings.current(), **changes))


def _be_patient() -> None:
    """Let no test fail because a busy machine takes long to draw its examples."""
    try:
        from hypothesis import HealthCheck, settings
    except ImportError:  # some machines run a part of the tests only
        return
    slow = [HealthCheck.too_slow]
    settings.register_profile("patient", settings(), deadline=None, suppress_health_check=slow)
    settings.load_profile("patient")


def _hear_interrupts() -> None:
    """Let the processes that tests start end by Ctrl-C.

    A shell that starts a run in the background has it ignore the signal, and children inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_be_patient()
_hear_interrupts()
sys.dont_write_bytecode = False
if "PYTEST_XDIST_WORKER" not in os.environ:
    _isolate()
