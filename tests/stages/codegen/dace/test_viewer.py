"""Pages of DaCe's viewer: one for each pass, with the whole SDFG."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen.dace.stage import CodegenDace
from fieldforge.workflows.commands.cli import main

from ..programs import TARGET, laplacians

pytestmark = pytest.mark.needs_dace
DIFFUSE = "fieldforge.examples.diffusion:diffuse"


def sdfg_in(page: str) -> object:
    found = re.search(r"var sdfg_string = (.*);\n", page)
    assert found is not None
    return json.loads(json.loads(found[1].replace("<\\/", "</")))


def test_each_pass_leaves_a_page_from_which_dace_reads_the_graph() -> None:
    import dace

    stage = CodegenDace(target=TARGET)
    inputs = {"lowered": laplacians(2), "variant": Variant()}
    pages = stage.pages_after_passes(**inputs)

    assert list(pages) == list(stage.after_passes(**inputs))
    for page in pages.values():
        sdfg = dace.SDFG.from_json(sdfg_in(page))
        sdfg.validate()
        assert {"u", "out"} <= set(sdfg.arrays)
        assert not re.search(r"{[{%]", page.partition("var sdfg_string")[0])
        assert "webclient/dist/sdfv.js" in page


@pytest.mark.needs_compiler
def test_the_command_writes_a_page_for_each_pass(tmp_path: Path) -> None:
    words = ["show", DIFFUSE, "--html", "--folder", str(tmp_path), "--backend", "dace_cpu"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    names = [path.name for path in sorted(tmp_path.iterdir())]
    assert names[:2] == ["diffuse-0-graph.html", "diffuse-1-simplify.html"]
    assert done.output.splitlines() == [str(tmp_path / name) for name in names]

    one = CliRunner().invoke(main, [*words, "--pass", "fuse_vertical"])
    assert one.output.splitlines() == [str(tmp_path / "diffuse-2-fuse_vertical.html")]


@pytest.mark.needs_compiler
def test_another_backend_has_no_viewer(tmp_path: Path) -> None:
    words = ["show", DIFFUSE, "--html", "--folder", str(tmp_path), "--backend", "cpu"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code != 0
    assert "no viewer of its IR" in done.output
    assert list(tmp_path.iterdir()) == []
