"""Editing a comment or moving a function: only `parse` runs again."""

import importlib.util
from pathlib import Path

import pytest

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.examples import diffusion

from ..selection import not_optimised

SOURCE = Path(diffusion.__file__).read_text()
CPU = not_optimised(ff.cpu)
STAGES = ("parse", "lower", "codegen", "compile", "bind")


def built(text: str, path: Path, disk: Disk) -> dict[str, str]:
    """Load `text` as a module at `path`, build its program in a new engine, say what ran."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    seen = ff.Collector()
    with ff.using(ff.Engine(disk, observers=[seen])):
        spec.loader.exec_module(module)
        module.diffuse.with_backend(CPU).build()
    ran = set(seen.ran())
    return {stage: "ran" if stage in ran else "found" for stage in STAGES}


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("what", "edit", "parses"),
    [
        ("nothing", lambda text: text, False),
        ("comment", lambda t: t.replace("    lap = lap", "    # the same\n    lap = lap"), True),
        ("spaces", lambda text: text.replace("coeff * (", "coeff  *  ("), True),
        ("docstring", lambda text: text.replace("Return u minus", "u minus"), True),
        ("blank lines", lambda t: t.replace("    flx = flux_i", "\n\n    flx = flux_i"), True),
        ("brackets", lambda t: t.replace("return u - coeff * (", "return u - (coeff) * ("), True),
        (
            "a broken line",
            lambda t: t.replace("+ fly - fly(J - 1))", "\n + fly - fly(J - 1))"),
            True,
        ),
        ("a number written otherwise", lambda t: t.replace("wpfloat(4.0)", "wpfloat(4.00)"), True),
        ("a remark after the code", lambda t: t.replace("out=out)", "out=out)  # done"), True),
        ("moved down", lambda text: "# a new header\n" * 9 + text, False),
    ],
)
def test_an_edit_without_meaning_stops_at_parse(tmp_path, what, edit, parses):
    disk = Disk(tmp_path / "cache")
    first = built(SOURCE, tmp_path / "first" / "stencil.py", disk)
    edited = edit(SOURCE)
    assert (edited == SOURCE) is (what == "nothing")

    again = built(edited, tmp_path / "first" / "stencil.py", disk)

    assert set(first.values()) == {"ran"}
    assert again == dict.fromkeys(STAGES, "found") | {"parse": "ran" if parses else "found"}


@pytest.mark.needs_compiler
def test_a_function_in_another_file_is_the_same_program(tmp_path):
    disk = Disk(tmp_path / "cache")
    built(SOURCE, tmp_path / "here" / "stencil.py", disk)

    moved = built(SOURCE, tmp_path / "there" / "other_name.py", disk)

    assert {moved[stage] for stage in STAGES[1:]} == {"found"}


@pytest.mark.needs_compiler
def test_an_edit_with_meaning_compiles_again(tmp_path):
    disk = Disk(tmp_path / "cache")
    built(SOURCE, tmp_path / "stencil.py", disk)

    again = built(SOURCE.replace("(4.0)", "(3.5)"), tmp_path / "stencil.py", disk)

    assert again == dict.fromkeys(STAGES, "ran") | {"bind": "found"}  # its arguments are the same
