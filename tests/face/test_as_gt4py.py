"""Programs written for gt4py run as they are where its name means fieldforge."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from fieldforge.workflows.commands.cli import main

from ..processes import python

SCRIPT = """
import sys

import gt4py.next.ffront.fbuiltins
from gt4py import eve, next as gtx
from gt4py._core import definitions as core_defs
from gt4py.eve import IntEnum, StrEnum
from gt4py.eve.utils import FrozenNamespace
from gt4py.next import common, config, float64
from gt4py.next.program_processors.runners.gtfn import run_gtfn

I = gtx.Dimension("I")


@gtx.field_operator(backend=gtx.itir_python)
def doubled(a: gtx.Field[[I], float64]) -> gtx.Field[[I], float64]:
    return a * 2.0


out = gtx.zeros({I: 2})
doubled(gtx.ones({I: 2}), out=out, offset_provider={})
print(out.asnumpy().tolist(), sys.argv[1:], gtx.common is common, gtx.__spec__.name)
assert gt4py.next.ffront.fbuiltins.int32 is gtx.int32
config.BUILD_JOBS = 3
assert gtx.config.BUILD_JOBS == 3
"""

ABSENT = """
for name in ("gt4py.next.iterator", "gt4py.next.otf.workflow", "gt4py.eve.traits",
             "gt4py.next.runtime", "gt4py.next.cartesian", "gt4py.cartesian.gtc.gtir"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert "has no counterpart in fieldforge" in str(error), error
    else:
        raise AssertionError(name)
"""


def run(*arguments, folder):
    return python(*arguments, cwd=folder, timeout=120)


MAIN = "from fieldforge.workflows.commands.cli import main; main()"


def test_a_script_runs_as_it_is(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)

    done = run("-c", MAIN, "run", "--as-gt4py", "script.py", "--steps", "3", folder=tmp_path)

    assert done.stderr == ""
    assert done.stdout == "[2.0, 2.0] ['--steps', '3'] True fieldforge\n"


def test_a_module_runs_as_it_is(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "model.py").write_text(SCRIPT)

    done = run("-c", MAIN, "run", "--as-gt4py", "-m", "package.model", "x", folder=tmp_path)

    assert done.stderr == ""
    assert done.stdout == "[2.0, 2.0] ['x'] True fieldforge\n"


POOL = """
import multiprocessing, sys
import gt4py.next as gtx

def name(_):
    return gtx.__name__

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(name, range(2)))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_of_a_pool_know_the_names_too(tmp_path, method):
    (tmp_path / "script.py").write_text(POOL)

    done = run("-c", MAIN, "run", "--as-gt4py", "script.py", method, folder=tmp_path)

    assert done.stderr == ""
    assert done.stdout == "['fieldforge', 'fieldforge']\n"


def test_one_import_is_enough(tmp_path):
    (tmp_path / "script.py").write_text(f"import fieldforge.as_gt4py\n{SCRIPT}")

    assert run("script.py", folder=tmp_path).stdout.startswith("[2.0, 2.0]")


def test_what_has_no_counterpart_says_so(tmp_path):
    done = run("-c", f"import fieldforge.as_gt4py\n{ABSENT}", folder=tmp_path)

    assert done.stderr == ""


def test_a_gt4py_that_is_imported_already_is_an_error(tmp_path):
    (tmp_path / "gt4py.py").touch()

    done = run("-c", "import gt4py, fieldforge.as_gt4py", folder=tmp_path)

    assert "'gt4py' is imported already" in done.stderr


def test_without_the_option_nothing_has_another_name(tmp_path):
    (tmp_path / "script.py").write_text("import sys; print('gt4py' in sys.modules)\n")

    done = run("-c", MAIN, "run", "script.py", folder=tmp_path)

    assert done.stdout == "False\n"


@pytest.mark.parametrize("options", [[], ["--as-gt4py"]])
def test_a_script_that_is_not_there_is_an_error(options, monkeypatch):
    monkeypatch.setattr("fieldforge.workflows.commands.run.install", lambda: None)

    found = CliRunner().invoke(main, ["run", *options, "missing.py"])

    assert found.exit_code == 2
    assert "There is no file 'missing.py'." in found.output
