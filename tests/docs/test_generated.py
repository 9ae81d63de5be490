"""The generated pages cover what the code has, and refuse what has no docstring."""

import importlib
import inspect
from pathlib import Path

import attrs
import pytest
from generate import api, builtins, commands, errors, options, settings
from generate.rooms import drawn
from generate.text import MissingDocstringError, fenced, summary

import fieldforge as ff
from fieldforge.runtime.embedded.builtins import __all__ as builtin_names
from fieldforge.runtime.language.operation_table import TABLE
from fieldforge.runtime.process.settings import Settings
from fieldforge.workflows.backends.backend import ROWS
from fieldforge.workflows.commands.cli import main

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_on_a_page():
    grouped = {name for group in api.GROUPS.values() for name in group.names}
    ready_made = {name for names in api.READY_MADE.values() for name in names}
    named = grouped | {*ready_made, *api.MODULES, *builtin_names}
    late = set(ff._LATE) - {"CUPY_DEVICE_TYPE"}  # such as 'sum', which no star import may bring
    assert set(ff.__all__) | late == named


def test_every_place_of_a_public_name_can_be_imported():
    for group in api.GROUPS.values():
        for name in group.names:
            assert api.place(name).startswith("fieldforge.")


def test_a_public_name_without_a_docstring_is_refused():
    def bare(): ...

    with pytest.raises(MissingDocstringError, match="'bare'"):
        summary(bare, "bare")


def test_members_that_pages_list_exist():
    from fieldforge.workflows.entries import entry_point, scan_operator

    kinds = {"EntryPoint": entry_point.EntryPoint, "ScanOperator": scan_operator.ScanOperator,
             "Engine": ff.Engine, "Field": ff.Field}  # fmt: skip
    for name, members in api.MEMBERS.items():
        assert [each for each in members if not hasattr(kinds[name], each)] == []


def test_every_builtin_has_meaning_error_and_example():
    page = builtins.page()
    for row in TABLE:
        if row.builtin:
            line = next(each for each in page.splitlines() if f"`{row.builtin}(" in each)
            assert row.meaning in line
            assert row.example in line
            assert ("exact" in line) == (row.ulps == 0)
    missing = [name for name in ("where", "broadcast", "astype", "neighbor_sum", "as_offset")
               if f"### {name}\n" not in page]  # fmt: skip
    assert missing == []


def test_the_examples_of_the_table_hold():
    names = {name: getattr(ff, name) for name in builtin_names}
    for row in TABLE:
        if row.builtin:
            assert eval(row.example, {**names}), row.example


def test_every_setting_is_on_the_page():
    page = settings.page()
    for field in attrs.fields(Settings):
        if field.name not in settings.NOT_READ:
            assert f"`FIELDFORGE_{field.name.upper()}`" in page


def test_every_backend_and_option_is_on_the_page():
    page = options.page()
    for row in ROWS:
        assert f"\n## {row.name}\n" in page
    for name in ff.cpu.options:
        assert f"| `{name.rpartition('.')[2]}` |" in page


def test_every_error_is_on_the_page():
    page = errors.page()
    for name in ff.errors.__all__:
        assert name in ("GT4PyError", "exceptions") or f"## {name} " in page


def test_every_command_is_on_the_page():
    page = commands.page()
    for name, _ in commands.walk(main, "fieldforge"):
        assert f"## {name} {{" in page
    assert "## fieldforge cache gc" in page


def test_examples_of_docstrings_are_fenced():
    text = fenced("Add.\n\n>>> 1 + 1\n2\n\nMore.")
    assert text == "Add.\n\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."


def test_rooms_become_boxes():
    chart = '```mermaid\n  subgraph a["a: run"]\n    b["b<br/>think"]\n  end\n```'
    assert '<div class="rooms"><span><b>b</b> think</span></div>' in drawn(chart)


def test_every_method_of_a_public_class_has_a_docstring():
    names = {name for group in api.GROUPS.values() for name in group.names}
    missing = [
        f"{name}.{member}"
        for name in sorted(names)
        if isinstance(kind := getattr(ff, name), type)
        for member, value in vars(kind).items()
        if not member.startswith("_") and callable(value) and not value.__doc__
    ]
    assert missing == []


# Names whose example stands on a page, because it needs files, ranks, or another name's example.
SHOWN_ON_PAGES = {
    "from_xarray": "data.md", "read_mesh": "data.md", "collective": "preparing.md",
    "locking": "precompiling.md", "plan": "models.md", "use_options": "models.md",
    "EntryPoint": "calls.md", "Program": "tutorial.md", "FieldOperator": "tutorial.md",
    "ScanOperator": "language.md", "DimensionKind": "language.md",
    "StepAdjoint": "adjoint.md", "ReversedLoop": "adjoint.md", "LoopReport": "adjoint.md",
    "Differentiable": "adjoint.md",
}  # fmt: skip


def test_every_public_name_has_an_example():
    for group in api.GROUPS.values():
        for where in (*map(api.place, group.names), *group.classes):
            module, _, name = where.rpartition(".")
            thing = getattr(importlib.import_module(module), name)
            if name in SHOWN_ON_PAGES:
                assert (ROOT / "docs" / SHOWN_ON_PAGES[name]).exists()
            else:
                assert ">>>" in (inspect.getdoc(thing) or ""), f"{where} has no example"
