"""Translation units compile side by side: as many as jobs allow, with errors told as ever."""

import ctypes
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import attrs
import pytest

from fieldforge.runtime.process.errors import CompilationError
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile.running import Slots, stop_compilers, using_slots
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.units import first_line

FLAGS = ("-O1", "-g", "-shared", "-fPIC", "-Wl,--as-needed", "-lm")
UNIT = "#if !defined(UNIT) || UNIT == {n}\nint f{n}(int a) {{ return {body}; }}\n#endif\n"


def source(*bodies: str, head: str = "") -> Generated:
    """Return a text of one unit more than bodies; the last calls them all."""
    count = len(bodies)
    declared = "".join(f"__attribute__((visibility(\"hidden\"))) int f{n}(int);\n"
                       for n in range(count))  # fmt: skip
    units = "".join(UNIT.format(n=n, body=body) for n, body in enumerate(bodies))
    total = " + ".join(f"f{n}(a)" for n in range(count))
    answer = f'extern "C" int answer(int a) {{ return {total}; }}'
    last = f"#if !defined(UNIT) || UNIT == {count}\n{answer}\n#endif\n"
    return Generated("c++", f"{first_line(count + 1)}\n{head}{declared}{units}{last}", "", FLAGS)


def stage(cxx: str | None = None, directory: Path | None = None) -> Compile:
    return Compile(cxx=cxx, variables=current().compiler_variables, directory=directory)


@pytest.fixture
def slow(tmp_path):
    """Return a compiler that takes a while, and notes when each unit began and ended."""
    path = tmp_path / "c++"
    path.write_text(f"""#!/bin/sh
case "$*" in *program.cpp*) ;; *) echo slow; exit 0 ;; esac
echo + >> {tmp_path}/log; sleep ${{SLOWLY:-0.2}}; echo - >> {tmp_path}/log
""")
    path.chmod(0o700)
    return path


def most_at_once(folder):
    running, most = 0, 0
    for line in (folder / "log").read_text().split():
        running += 1 if line == "+" else -1
        most = max(most, running)
    return most


@pytest.mark.needs_compiler
@pytest.mark.parametrize("jobs", [1, 3])
def test_units_become_one_library_whose_bytes_do_not_depend_on_jobs(tmp_path, jobs):
    generated = source("a", "2 * a", "3 * a")
    with using_slots(Slots(jobs)):
        compiled = stage().run(generated=generated)["compiled"]
    assert compiled.library == stage().run(generated=generated)["compiled"].library
    path = tmp_path / "answer.so"
    path.write_bytes(compiled.library)
    library = ctypes.CDLL(str(path))
    assert library.answer(7) == 42
    assert not hasattr(library, "_Z2f0i")


@pytest.mark.needs_compiler
def test_the_headers_of_every_unit_are_recorded(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.h").write_text("")
    generated = source("a", "a", head="".join(
        f'#if UNIT == {n}\n#include "{tmp_path}/{name}.h"\n#endif\n'
        for n, name in enumerate(("one", "two"))
    ))  # fmt: skip
    manifest = json.loads(stage().run(generated=generated)["compiled"].manifest)
    assert {f"{tmp_path}/one.h", f"{tmp_path}/two.h"} <= manifest["headers"].keys()


@pytest.mark.needs_compiler
@pytest.mark.parametrize("jobs", [1, 4])
def test_an_error_names_its_unit_and_its_line_of_the_whole_text(tmp_path, jobs):
    generated = source("a", "wrong", "mistaken")
    line = 1 + generated.source[: generated.source.index("wrong")].count("\n")
    with using_slots(Slots(jobs)), pytest.raises(CompilationError) as info:
        stage(directory=tmp_path).run(generated=generated)
    assert "failed with exit code 1 in translation unit 2 of 4." in info.value.message
    assert f"program.cpp:{line}:" in info.value.log
    assert "mistaken" not in info.value.log
    assert "-DUNIT=1" in info.value.command
    assert generated.source in Path(info.value.log_path).read_text()


@pytest.mark.needs_compiler
def test_an_error_of_the_linker_is_told(tmp_path):
    generated = source("a", "missing(a)", head="int missing(int);\n")
    generated = attrs.evolve(generated, flags=(*FLAGS, "-Wl,--no-undefined"))
    with pytest.raises(CompilationError, match="failed with exit code 1\\.") as info:
        stage(directory=tmp_path).run(generated=generated)
    assert "undefined reference" in info.value.log


@pytest.mark.needs_compiler
@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump reads the tables")
def test_line_tables_of_all_units_name_the_text(tmp_path):
    path = tmp_path / "answer.so"
    path.write_bytes(stage().run(generated=source("a", "2 * a"))["compiled"].library)
    words = ["objdump", "--dwarf=decodedline", str(path)]
    table = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows = [row.split() for row in table.splitlines() if row.startswith("program.cpp ")]
    lines = {int(row[1]) for row in rows if row[1].isdigit()}  # the last of a unit has none
    text = source("a", "2 * a").source.split("\n")
    functions = {n for n, line in enumerate(text, 1) if "return" in line}
    assert functions <= lines


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_no_more_compilers_run_than_there_are_slots(slow, tmp_path, jobs):
    with using_slots(Slots(jobs)), pytest.raises(CompilationError):  # it writes nothing
        stage(str(slow)).run(generated=source("a", "a", "a", "a"))
    assert most_at_once(tmp_path) == jobs


def test_the_setting_jobs_limits_units_outside_pools(slow, tmp_path, setting):
    setting(jobs=2)
    with pytest.raises(CompilationError):
        stage(str(slow)).run(generated=source("a", "a", "a", "a"))
    assert most_at_once(tmp_path) == 2


def test_builds_share_slots(slow, tmp_path):
    slots = Slots(2)

    def build(*bodies):
        with using_slots(slots), pytest.raises(CompilationError):
            stage(str(slow)).run(generated=source(*bodies))

    threads = [threading.Thread(target=build, args="a" * n) for n in (4, 3, 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most_at_once(tmp_path) == 2
    assert slots.take(is_first=False)
    assert slots.take(is_first=False)


def test_a_cancelled_build_ends_all_its_compilers(slow, tmp_path, setting):
    variables = (*current().compiler_variables, ("SLOWLY", "300"))
    errors = []

    def build():
        try:
            Compile(cxx=str(slow), variables=variables).run(generated=source("a", "a", "a"))
        except CompilationError as error:
            errors.append(error)

    setting(jobs=2)
    thread = threading.Thread(target=build, name="build-7")
    thread.start()
    while not (tmp_path / "log").exists() or (tmp_path / "log").read_text().count("+") < 2:
        time.sleep(0.01)
    stop_compilers("build-7")
    thread.join(30)
    assert not thread.is_alive()
    assert [error.exit_code for error in errors] == [-9]
    assert (tmp_path / "log").read_text().split() == ["+", "+"]  # no third was started


INTERRUPTED = """
import sys, _thread, threading, time, attrs
from pathlib import Path
from fieldforge.runtime.process.settings import current, set_current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile.stage import Compile
log = Path(sys.argv[2])
def interrupt():
    while not log.exists() or log.read_text().count("+") < 2:
        time.sleep(0.01)
    _thread.interrupt_main()
threading.Thread(target=interrupt, daemon=True).start()
variables = (*current().compiler_variables, ("SLOWLY", "300"))
set_current(attrs.evolve(current(), jobs=2))
try:
    Compile(cxx=sys.argv[1], variables=variables).run(
        generated=Generated("c++", sys.stdin.read(), "", ())
    )
except KeyboardInterrupt:
    from fieldforge.stages.compile import running
    print("interrupted", len(running._running))
"""


def test_an_interrupt_ends_all_units(slow, tmp_path):
    words = [sys.executable, "-c", INTERRUPTED, str(slow), str(tmp_path / "log")]
    done = subprocess.run(
        words, input=source("a", "a", "a").source, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert done.stdout == "interrupted 0\n"
