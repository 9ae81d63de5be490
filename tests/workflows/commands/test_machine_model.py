"""Which size a list of measured ratios speaks for, and that the command measures and keeps."""

import json

import pytest
from click.testing import CliRunner

from fieldforge.runtime.calls.machine import machine_file
from fieldforge.workflows.commands import machine_model
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.commands.machine_model import Ratio, first_gain


def ratios(*medians, noisy=()):
    return [Ratio(1 << n, m, 9.0 if n in noisy else 1.0) for n, m in enumerate(medians)]


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        (ratios(1.2, 1.1, 0.9, 0.8), 4),
        (ratios(0.8, 1.1, 0.9, 0.8), 4),  # a gain that larger sizes do not have
        (ratios(1.2, 1.1, 1.1, 1.2), None),
        (ratios(1.2, 0.5, 0.9, 0.8, noisy=(1,)), 4),
        (ratios(1.2, 0.9, 3.0, 0.8, noisy=(2,)), 2),
        (ratios(0.5, 0.5, noisy=(0, 1)), None),
        ([], None),
    ],
)
def test_a_threshold_is_the_first_size_from_which_on_all_gain(rows, size):
    assert first_gain(rows, 1.0) == size


@pytest.mark.needs_compiler
def test_the_command_measures_shows_and_keeps(monkeypatch):
    monkeypatch.setattr(machine_model, "SIZES", (1 << 16,))
    monkeypatch.setattr(machine_model, "POINTS", (1024,))
    monkeypatch.setattr(machine_model, "LEVELS", (("first", 1 << 14), ("memory", 1 << 20)))

    done = CliRunner().invoke(main, ["doctor", "--machine"])

    assert done.exit_code == 0, done.output
    document = json.loads(machine_file().read_text())
    assert document["bandwidth"] > 0
    assert [row["size"] for row in document["stores"]] == [1 << 16]
    assert str(machine_file().name) in "".join(done.output.split())


def test_the_help_of_the_command_says_what_it_measures():
    done = CliRunner().invoke(main, ["doctor", "--help"])

    assert done.exit_code == 0
    assert "--machine" in done.output
