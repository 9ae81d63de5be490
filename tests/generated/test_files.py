"""A sample of what `make fuzz FILES=1` reads, and whether the fuzzer sees what is wrong."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from . import files
from .file_kinds import KINDS, Kind
from .files import GROWTH, Options, batch_apart, judged, prepared
from .mutations import CANARY

ROOT = Path(__file__).parents[2]


@pytest.mark.needs_compiler
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_changed_file_leads_to_documented_errors_only(kind):
    if kind == "mesh":
        pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    command = [sys.executable, "-m", "tests.generated.files", "60", "--kind", kind]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kind}: 60 changed files" in done.stdout


def write_canary(path):
    (path.parent.parent / CANARY).touch()


def take_memory(path):
    bytearray(2 * GROWTH << 10)


def tell_the_compiler(path):
    subprocess.run([os.environ["FIELDFORGE_CXX"], "-wrapper", "sh,-c,id"], check=False)


def import_outside(path):
    sys.path.insert(0, str(path.parent.parent))
    import outside  # noqa: F401


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda path: {}["a"], "KeyError in"),
        (lambda path: os.system("true"), "started os.system"),
        (lambda path: subprocess.run(["true"], check=False), "started subprocess.Popen"),
        (lambda path: bytearray(1 << 40), "MemoryError in"),
        (lambda path: os.abort(), "the process ended (6)"),
        (take_memory, "MB"),
        (tell_the_compiler, "the compiler was given '-wrapper'"),
        (write_canary, "the canary was written"),
        (import_outside, "the canary was written"),
    ],
)
def test_what_a_reader_must_not_do_is_seen(read, said, tmp_path, monkeypatch):
    for name in ("CXX", "CACHE_DIR", "LOCAL_DIR"):
        monkeypatch.setenv(f"FIELDFORGE_{name}", "")
    evil = Kind("a", lambda _, content: content, lambda _: b"", read, (OSError,))
    monkeypatch.setitem(files.KINDS, "evil", evil)
    monkeypatch.setattr("fieldforge.runtime.process.settings.set_current", lambda _: None)
    root = prepared(tmp_path)
    (root / "refuse").touch()
    (root / "outside.py").write_text(f"open({str(root / CANARY)!r}, 'w').close()\n")

    ((number, wrong, _),) = batch_apart(Options("evil", 1, 0, root), b"", [7])

    assert number == 7
    assert said in wrong


def abort(path):
    os.abort()


@pytest.mark.parametrize(("alone", "said"), [(len, "TypeError in"), (Path.exists, "")])
def test_what_ends_the_process_is_judged_by_the_reader_that_is_alone(
    alone, said, tmp_path, monkeypatch
):
    for name in ("CXX", "CACHE_DIR", "LOCAL_DIR"):
        monkeypatch.setenv(f"FIELDFORGE_{name}", "")
    kind = Kind("a", lambda _, content: content, lambda _: b"", abort, (OSError,), alone=alone)
    monkeypatch.setitem(files.KINDS, "ending", kind)
    options = Options("ending", 2, 0, tmp_path)

    rows = list(judged(options, b"", [0, 1]))

    assert [number for number, _, _ in rows] == [0, 1]
    assert all(wrong.startswith(said) and bool(wrong) == bool(said) for _, wrong, _ in rows)


def _reads(pid):
    """Tell whether a child of the run has begun to read.

    Earlier the run may still be in `os.fork`, whose hooks swallow an interrupt.
    """
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    try:
        return any(Path(f"/proc/{child}/cwd").readlink() != ROOT for child in children)
    except OSError:  # the child has ended
        return False


def test_ctrl_c_ends_the_run_with_a_summary():
    command = [sys.executable, "-m", "tests.generated.files", "1000000", "--kind", "journal"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        while not _reads(running.pid) and running.poll() is None:
            pass
        running.send_signal(signal.SIGINT)
        try:
            said, _ = running.communicate(timeout=60)
        finally:
            running.kill()

    assert running.returncode == 1
    assert "Ended early." in said
    assert "journal: " in said


def test_equal_options_draw_equal_changes(tmp_path):
    options = Options("journal", 5, 3, tmp_path)
    sample = KINDS["journal"].sample(tmp_path)

    def drawn(chosen):
        return [chosen.changed(KINDS["journal"], sample, number) for number in range(5)]

    assert drawn(options) == drawn(options)
    assert drawn(options) != drawn(attrs.evolve(options, seed=4))
