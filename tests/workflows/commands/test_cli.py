import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.runtime.process import settings
from fieldforge.workflows.commands import cli, start
from fieldforge.workflows.commands.cli import main

from ...processes import python

MODEL = """
from fieldforge.runtime.embedded.builtins import float64
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.fields.field import Field
from fieldforge.workflows.entries.decorators import field_operator, program

I = Dimension("I")
Line = Field[[I], float64]

@field_operator
def rise(u: Line) -> Line:
    return u(I + 1) - u  # a comment

@program
def steep(u: Line, out: Line):
    rise(u, out=out)
"""

OPEN = """
import warnings
import fieldforge as ff

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

@ff.field_operator
def scaled(u: Line, by: ff.float64) -> Line:
    return u * by

@ff.program
def scale(u: Line, by: ff.float64, out: Line):
    scaled(u, by, out=out)

warnings.simplefilter("ignore")
step = ff.setup(scale, static_args=("by",))
"""


@pytest.fixture
def model(tmp_path, own_engine):
    file = tmp_path / "steep_model.py"
    file.write_text(MODEL)
    return file


def test_help_lists_the_commands_and_each_has_an_example(call):
    for command in ("show", "graph", "explain", "stages"):
        assert command in call("--help").output
        assert f"Example: fieldforge {command}" in call(command, "--help").output


def test_version_is_that_of_the_package_with_click_and_without(call, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fieldforge", "--version"])
    start.main()

    assert call("--version").output == capsys.readouterr().out
    assert call("--version").output == f"fieldforge, version {ff.__version__}\n"


def test_the_command_line_is_a_module_too(call):
    command = [sys.executable, "-m", "fieldforge", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown == call("--version").output


def test_show_prints_what_a_stage_made(call, model):
    done = call("show", f"{model}:steep", "--stage", "lower")

    assert done.exit_code == 0
    assert done.output.startswith("program steep(u, out)")


def test_show_prints_the_dataflow_after_a_pass(call, model):
    done = call("show", f"{model}:steep", "--stage", "lower", "--pass", "push_shifts")

    assert "\nafter 'push_shifts':\nprogram steep" in done.output


def test_show_names_the_passes_that_ran(call, model):
    done = call("show", f"{model}:steep", "--pass", "tyle")

    assert done.exit_code == 1
    assert "ran no pass 'tyle', expected one of 'schedule', 'tile'" in done.output
    assert "Did you mean 'tile'?" in done.output


def test_show_prints_the_loops_of_a_stage(call, model):
    done = call("show", f"{model}:steep", "--stage", "codegen", "--loops")

    assert done.output.startswith("kernel steep")


def test_show_without_stage_prints_a_table(call, model):
    done = call("show", f"{model}:rise", "--backend", "reference")

    assert [row.split()[:2] for row in done.output.splitlines()] == [
        ["parse", "ran"], ["lower", "ran"], ["interpret", "ran"],
    ]  # fmt: skip


def test_unknown_program_names_those_that_are_there(call, model):
    done = call("show", f"{model}:stepe")

    assert done.exit_code == 2
    assert "has no program or operator 'stepe'; it has rise, steep" in done.output


@pytest.mark.parametrize("name", ["steep", "no_such_module:steep", "nowhere.py:steep"])
def test_program_that_cannot_be_found_is_an_error_of_usage(call, name):
    assert call("show", name).exit_code == 2


def test_graph_draws_the_workflow(call, model):
    assert "-> codegen  -> generated, interface" in call("graph", f"{model}:steep").output
    assert call("graph", f"{model}:steep", "--mermaid").output.startswith("flowchart TD")
    text = call("graph", f"{model}:steep", "--text").output
    assert text.startswith("parse -> lower -> codegen")


def test_explain_names_what_changed(call, model):
    call("explain", f"{model}:rise", "--backend", "reference")
    first = call("explain", f"{model}:rise", "--backend", "reference").output
    model.write_text(MODEL.replace("# a comment", "# another"))

    second = call("explain", f"{model}:rise", "--backend", "reference").output

    assert first.startswith("parse: found in this process.")
    assert second.startswith("parse: ran, because its key changed")
    assert "input 'source' changed" in second
    assert "lower: found in this process." in second


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        (
            "TIERS",
            "both",
            "first tier: runs calls of what is not built, and builds it after 0.01 s.",
        ),
        ("TIERS", "compiled", "first tier: off by the option 'tiers'."),
        (
            "OPTIONS",
            "numerics=fast",
            'first tier: none, because numerics="fast" lets the compiler choose',
        ),
    ],
)
def test_explain_says_whether_there_is_a_first_tier(call, model, setting, value, said, monkeypatch):
    monkeypatch.setattr(settings, "_current", [])
    monkeypatch.setenv(f"FIELDFORGE_{setting}", value)

    assert said in call("explain", f"{model}:rise", "--backend", "cpu").output


def test_explain_of_a_set_up_with_open_static_values_is_that_of_the_usual_build(
    call, own_engine, tmp_path
):
    (tmp_path / "open_values.py").write_text(OPEN)
    address = f"{tmp_path / 'open_values.py'}:step"

    done = [call("explain", address, "--backend", "reference") for _ in range(2)]

    assert [each.exit_code for each in done] == [0, 0]
    assert done[0].output.startswith("scale: 'scale' was never built into this store.")
    assert done[1].output.startswith("parse: found in this process.")


def test_stages_lists_ports_and_options(call):
    output = call("stages").output

    assert "lower  parsed, variant -> lowered" in output
    assert "fold=True" in output


def test_cache_says_where_it_is_and_what_is_in_it(call, own_engine, tmp_path):
    assert call("cache", "path").output.strip() == str(tmp_path / "store")
    assert "results" in call("cache", "stats").output


def test_demo_is_offered_where_the_examples_are_installed(call):
    assert "Smooth real terrain" in call("demo", "--help").output


def test_the_list_of_commands_says_what_each_command_says():
    context = click.Context(cli.main)
    for name, (_, line) in cli.COMMANDS.items():
        command = cli.main.get_command(context, name)
        assert command.name == name
        first = (command.help or "").strip().partition("\n\n")[0]
        assert " ".join(first.split()) == line


def test_help_imports_no_command():
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "import fieldforge\n"
        "before = set(sys.modules)\n"
        "from fieldforge.workflows.commands.cli import main\n"
        "done = CliRunner().invoke(main, ['--help'])\n"
        "assert 'bisect' in done.output, done.output\n"
        "print(*sorted(n for n in set(sys.modules) - before if n.startswith('fieldforge.')))"
    )
    done = python("-c", code, check=True)
    own = [
        name
        for name in done.stdout.split()
        if not name.endswith((".workflows", ".commands", ".cli"))
    ]
    assert [name for name in own if not name.startswith("fieldforge.examples")] == []
    assert not any(name.startswith("fieldforge.examples.demo.") for name in own)


def test_the_help_says_that_commands_import_the_file_of_a_program():
    shown = " ".join(CliRunner().invoke(main, ["--help"]).output.split())

    assert 'Commands import it, so keep a time loop under `if __name__ == "__main__":`.' in shown
