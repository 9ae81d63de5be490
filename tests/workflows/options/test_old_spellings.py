"""Deprecated spellings of options warn, say the new one, and give the same builds."""

import warnings
from pathlib import Path

import attrs
import pytest

import fieldforge as ff
from fieldforge.cache.fingerprint import fingerprint
from fieldforge.errors import OptionError
from fieldforge.runtime.process import settings
from fieldforge.stages import Numbers
from fieldforge.workflows.backends.backend import BACKENDS
from fieldforge.workflows.backends.recipes import registry
from fieldforge.workflows.capsules.backend_text import backend_of, options_text
from fieldforge.workflows.graph.graph import Workflow
from fieldforge.workflows.options.database import database
from fieldforge.workflows.options.from_files import check_from_file
from fieldforge.workflows.tuning.candidates import tunable_options, values_of
from fieldforge.workflows.tuning.tuned_file import Winner, keep, kept

PROGRAM = "model:step"
# (backend, option, deprecated value, value)
CHANGED = [
    ("cpu", "patches", (), ff.Patches()),
    ("cpu", "patches", (-1,), False),
    ("cpu", "patches", (2048,), ff.Patches(elements=2048)),
    ("cpu", "patches", (6144, 0, 1), ff.Patches(elements=6144, least_bytes=1)),
    ("gpu", "patches", (-1,), False),
    (
        "gpu", "patches", (192, 16, 4, 256, 5),
        ff.Patches(elements=192, levels=16, points=4, threads=256, blocks=5),
    ),
    ("gpu", "points", (4, 1), ff.ThreadPoints(x=4)),
    ("gpu", "points", (2, 2), ff.ThreadPoints(x=2, y=2)),
    ("gpu", "block", (), ff.ThreadBlock()),
    ("gpu", "block", (128,), ff.ThreadBlock(x=128)),
    ("gpu", "block", (32, 4, 1), ff.ThreadBlock(x=32, y=4)),
    ("gpu", "column_block", (32,), ff.ThreadBlock(x=32)),
    ("dace_gpu", "block_3d", (16, 4, 2), ff.ThreadBlock(x=16, y=4, z=2)),
]  # fmt: skip


def text_of(value):
    """Return a value as a file has it."""
    if isinstance(value, Numbers):
        return value.table
    return "false" if value is False else str(list(value))


def by_options(backend, name, value, folder):
    return BACKENDS[backend].with_options(**{name: value})


def by_call(backend, name, value, folder):
    return database().applied(BACKENDS[backend], PROGRAM, {name: value})


def by_file(backend, name, value, folder):
    file = Path(folder, "model.toml")
    file.write_text(f"[[when]]\nbackend = '{backend}'\nset.{name} = {text_of(value)}\n")
    return ff.use_options(file).applied(BACKENDS[backend], PROGRAM)


def by_environment(backend, name, value, folder):
    given = (("numerics", "contract"), (name, text_of(value)))
    settings.set_current(attrs.evolve(settings.current(), options=given))
    return database().applied(BACKENDS[backend], PROGRAM)


def by_workflow(backend, name, value, folder):
    """Read the text of a workflow, as lock files have it."""
    made = BACKENDS[backend]
    whole = str(made.with_options(mathematics="library").workflow)
    text = whole.replace("mathematics='library'", f"{name}={value!r}")
    assert text != whole
    return made.with_workflow(Workflow.parse(text, registry()))


def by_capsule(backend, name, value, folder):
    given = {**options_text(BACKENDS[backend]), f"codegen.{name}": repr(value)}
    return backend_of(backend, given)


WAYS = [by_options, by_call, by_file, by_environment, by_workflow, by_capsule]


def codegen(backend):
    return next(stage for name, stage in backend.workflow.nodes if name == "codegen")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("backend", "name", "old", "new"), CHANGED)
def test_a_list_of_numbers_is_the_value_with_names(way, backend, name, old, new, tmp_path):
    with pytest.warns(DeprecationWarning, match="takes numbers by name") as caught:
        before = codegen(way(backend, name, old, tmp_path))
    said = str(caught[0].message)
    assert f"write '{new!r}', or '{text_of(new)}' in a file" in said

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = codegen(way(backend, name, new, tmp_path))
    assert getattr(after, name) == new
    assert before == after
    assert fingerprint(before) == fingerprint(after)


@pytest.mark.parametrize("way", WAYS)
def test_a_deprecated_name_is_the_option_with_its_new_name(way, tmp_path):
    value = 4
    with pytest.warns(DeprecationWarning, match="Option '.*tiles' is now 'tile_columns'"):
        before = codegen(
            way("gpu", "tiles", value, tmp_path) if way not in (by_file, by_environment)
            else tiles_from(way, tmp_path)
        )  # fmt: skip

    assert before == codegen(ff.gpu.with_options(tile_columns=value))


def tiles_from(way, folder):
    if way is by_environment:
        settings.set_current(attrs.evolve(settings.current(), options=(("codegen.tiles", "4"),)))
        return database().applied(BACKENDS["gpu"], PROGRAM)
    file = Path(folder, "model.toml")
    file.write_text("[[when]]\nbackend = 'gpu'\nset.tiles = 4\n")
    return ff.use_options(file).applied(BACKENDS["gpu"], PROGRAM)


def test_the_name_keeps_its_meaning_where_it_is_not_deprecated():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ff.dace_cpu.with_options(tiles=False).options["codegen.tiles"] is False


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("set.patches = {elements = 192, level = 16}", 3),
        ("set.patches = {elements = '192'}", 3),
        ("set.patches.threads = 256\nset.patches.levels = 2048", 3),
        ("[when.set.patches]\nlevels = -1", 3),
        ("set.patches = 3", 3),
        ("set.patches = true", 3),
    ],
)
def test_a_wrong_table_is_an_error_with_what_is_allowed(text, line, tmp_path):
    file = tmp_path / "model.toml"
    file.write_text(f"[[when]]\nbackend = 'gpu'\n{text}\n")

    with pytest.raises(OptionError) as caught:
        ff.use_options(file)

    said = str(caught.value)
    assert said.startswith(f"{file}:{line}: Option 'codegen.patches' takes 'Patches' with elements")
    assert "threads from 0 to 1024, blocks from 0 to 1024, or False, got " in said


def test_a_mapping_is_a_table_in_python_too():
    given = ff.gpu.with_options(block={"x": 32, "y": 4}, patches={"elements": 192})

    assert given == ff.gpu.with_options(block=ff.ThreadBlock(32, 4), patches=ff.Patches(192))


def test_tuning_tries_values_with_names():
    (option,) = tunable_options(BACKENDS["cpu"], ["patches"])

    assert list(values_of(option, False, ())) == [
        ff.Patches(), ff.Patches(elements=2048), ff.Patches(elements=24576),
    ]  # fmt: skip


@pytest.mark.parametrize("value", [{"elements": "$(x)"}, {"a\nb": 3}, {"elements": object()}])
def test_a_file_sets_numbers_and_words_in_tables(value):
    check_from_file("codegen.patches", {"elements": 3})
    check_from_file("codegen.patches", ff.Patches(elements=3))

    with pytest.raises(OptionError, match="numbers and words only"):
        check_from_file("codegen.patches", value)


def test_a_number_of_another_platform_is_refused():
    with pytest.raises(OptionError, match=r"takes 'Patches' with elements .*, portion .*, least"):
        ff.cpu.with_options(patches=ff.Patches(elements=192, threads=256))


def test_a_wrong_number_is_refused_where_it_is_written():
    with pytest.raises(OptionError, match=r"'z' of 'ThreadBlock' takes .* 1 to 64, got 65"):
        ff.ThreadBlock(8, 1, 65)


@pytest.mark.parametrize("value", [False, ff.Patches(), ff.Patches(elements=2048)], ids=str)
def test_a_tuned_file_keeps_the_value(value, tmp_path):
    file = tmp_path / "model.tuned.toml"
    options = (("codegen.patches", value),)
    winner = Winner(PROGRAM, "cpu", "", options, "2026-01-01", "machine", 1.5, 0.01)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keep(file, winner)
        assert kept(file, PROGRAM, "cpu", "") == options
        assert hash(kept(file, PROGRAM, "cpu", "")) == hash(options)


def test_a_warning_names_the_line_of_the_file_or_of_the_code(tmp_path):
    file = tmp_path / "model.toml"
    file.write_text("[[when]]\nbackend = 'gpu'\nset.block = [32, 4]\n")
    with pytest.warns(DeprecationWarning, match=rf"^{file}:3: Option 'codegen.block' takes"):
        ff.use_options(file)

    with pytest.warns(DeprecationWarning, match="^Option 'block' takes numbers by name") as caught:
        ff.gpu.with_options(block=(32, 4))
    assert [each.filename for each in caught] == [__file__]
