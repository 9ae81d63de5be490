"""Imports of gt4py become imports of fieldforge, and nothing else changes."""

import pytest
from click.testing import CliRunner

from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.commands.migration.import_rewriting import rewrite

REWRITTEN = [
    ("import gt4py.next as gtx\n", "import fieldforge as gtx\n"),
    ("from gt4py import next as gtx\n", "import fieldforge as gtx\n"),
    ("from gt4py import next\n", "import fieldforge as next\n"),
    ("from gt4py import eve\n", "from fieldforge import eve\n"),
    ("from gt4py import eve, next as gtx\n",
     "import fieldforge as gtx\nfrom fieldforge import eve\n"),
    ("import gt4py.next.ffront.fbuiltins\n", "import fieldforge.ffront.fbuiltins\n"),
    ("import gt4py.next.common as c, os\n", "import fieldforge.common as c, os\n"),
    ("from gt4py.next import (\n    where,  # a\n    abs as a,\n)\n",
     "from fieldforge import (\n    where,  # a\n    abs as a,\n)\n"),
    ("from gt4py.next import *\n", "from fieldforge import *\n"),
    ("from gt4py._core.definitions import ScalarT\n",
     "from fieldforge._core.definitions import ScalarT\n"),
    ("from gt4py.next.program_processors.runners import gtfn\n",
     "from fieldforge.program_processors.runners import gtfn\n"),
    ("import gt4py.next\n\nx = gt4py.next.common.Dimension('I')\n",
     "import fieldforge\n\nx = fieldforge.common.Dimension('I')\n"),
    ("import gt4py\nimport gt4py.next\ng = gt4py.next.zeros\n",
     "import fieldforge\nimport fieldforge\ng = fieldforge.zeros\n"),
    ("if True:\n\tfrom gt4py.next import common; y = 1\n",
     "if True:\n\tfrom fieldforge import common; y = 1\n"),
    ("import importlib\nm = importlib.import_module('gt4py.next.config')\n",
     "import importlib\nm = importlib.import_module('fieldforge.config')\n"),
    ("é = 'é'; import gt4py.next as gtx  # é\r\n", "é = 'é'; import fieldforge as gtx  # é\r\n"),
    ("'''Text on gt4py.next.'''  # gt4py\n", "'''Text on gt4py.next.'''  # gt4py\n"),
]  # fmt: skip

LEFT = [
    ("from gt4py.eve import NodeTranslator\n", "gt4py.eve.NodeTranslator"),
    ("from gt4py.eve import datamodels\n", "gt4py.eve.datamodels"),
    ("from gt4py.next import iterator\n", "gt4py.next.iterator"),
    ("from gt4py.next.iterator import ir as itir\n", "gt4py.next.iterator.ir"),
    ("import gt4py.next.otf.workflow as w\n", "gt4py.next.otf.workflow"),
    ("from gt4py.next import runtime\n", "gt4py.next.runtime"),
    ("m = __import__('gt4py.next.iterator')\n", "gt4py.next.iterator"),
]


@pytest.mark.parametrize(("before", "after"), REWRITTEN)
def test_every_form_of_import_is_rewritten(before, after):
    found = rewrite(before)

    assert found.text == after
    assert found.left == ()
    assert rewrite(after).text == after


@pytest.mark.parametrize(("text", "name"), LEFT)
def test_what_has_no_counterpart_is_left_alone_and_told(text, name):
    found = rewrite(text)

    assert found.text == text
    [left] = found.left
    assert (left.line, name in left.message) == (1, True)


def test_names_that_modules_do_not_have_are_told():
    found = rewrite("from gt4py import next as gtx\n\na = gtx.zeros\nb = gtx.iterator.builtins\n")

    assert [(left.line, left.message) for left in found.left] == [
        (4, "'gt4py.next.iterator' has no counterpart.")
    ]


IN_USE = {
    "a statement with both is split": (
        "if x:\n    from gt4py.eve import (\n        NOTHING,  # of\n        StrEnum,\n    )\n",
        "if x:\n    from fieldforge.eve import StrEnum  # of\n    from gt4py.eve import NOTHING\n",
        [3],
    ),
    "dotted names stay": (
        "import gt4py\nx = gt4py.next.zeros\ny = gt4py.eve.datamodels\n",
        "import gt4py\nx = gt4py.next.zeros\ny = gt4py.eve.datamodels\n",
        [1, 2, 3],
    ),
}


@pytest.mark.parametrize(("before", "after", "lines"), IN_USE.values(), ids=IN_USE)
def test_parts_of_gt4py_that_are_in_use_stay(before, after, lines):
    found = rewrite(before)

    assert found.text == after
    assert [left.line for left in found.left] == lines


def test_environment_variables_are_told_by_their_names_here():
    [left] = rewrite("v = 'GT4PY_BUILD_JOBS'  # of gt4py\n").left

    assert "FIELDFORGE_JOBS" in left.message


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "good.py").write_text("import gt4py.next as gtx\n")
    (tmp_path / "model" / "other.py").write_text("x = 1\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "hidden.py").write_text("import gt4py.next as gtx\n")
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(main, ["migrate", *map(str, arguments)])


def test_the_command_counts_shows_and_writes(folder):
    good = folder / "model" / "good.py"
    good.chmod(0o755)

    counted, shown = invoke(folder), invoke(folder, "--diff")
    before = good.read_text()
    written = invoke(folder, "--write")

    assert counted.output == "1 file would change, 0 places left.\n"
    assert "-import gt4py.next as gtx\n+import fieldforge as gtx\n" in shown.output
    assert before == "import gt4py.next as gtx\n"
    assert written.output == "1 file changed, 0 places left.\n"
    assert good.read_text() == "import fieldforge as gtx\n"
    assert good.stat().st_mode & 0o777 == 0o755
    assert "gt4py" in (folder / ".venv" / "hidden.py").read_text()
    assert [found.exit_code for found in (counted, shown, written)] == [0, 0, 0]
    assert sorted(path.name for path in (folder / "model").iterdir()) == ["good.py", "other.py"]


def test_the_command_names_files_and_lines_of_what_is_left(folder):
    bad = folder / "model" / "bad.py"
    bad.write_text("\nfrom gt4py.eve import NodeTranslator\n")

    found = invoke(folder)

    assert f"{bad}:2: 'gt4py.eve.NodeTranslator' has no counterpart." in found.output
    assert found.exit_code == 1


def test_a_file_that_is_no_python_is_told_and_left(folder):
    bad = folder / "model" / "bad.py"
    bad.write_text("import gt4py.next as (\n")

    found = invoke(bad, "--write")

    assert f"{bad}:1: The file cannot be read as Python" in found.output
    assert found.exit_code == 1
    assert bad.read_text() == "import gt4py.next as (\n"


def test_to_show_and_to_write_exclude_each_other(folder):
    assert invoke(folder, "--diff", "--write").exit_code == 2
