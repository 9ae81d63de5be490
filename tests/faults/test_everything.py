"""The long tier in one piece: what it runs, what it says, and that a fault is not passed over."""

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

from . import everything

ROOT = Path(__file__).parents[2]
SIZES = argparse.Namespace(kills=6, holders=1, loaded=1, rounds=40)


def test_parts_run_in_processes_and_all_of_them_pass():
    command = [sys.executable, "-m", "tests.faults.everything", "kills", "--kills", "6"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    first, figures, last = done.stdout.splitlines()
    assert first.split()[:2] == ["kills", "passed"]
    assert figures.strip().startswith("6 kills, ")
    assert last.startswith("all parts passed")
    assert done.returncode == 0


def test_a_part_that_fails_is_named_and_shown(monkeypatch, capsys):
    monkeypatch.setitem(everything.PARTS, "kills", lambda jobs, args: [["3"], ["many"]])
    monkeypatch.chdir(ROOT)

    assert everything.run(["kills"], 2, SIZES) == ["kills"]

    said = capsys.readouterr().out
    assert said.startswith("kills     FAILED")
    assert "invalid int value: 'many'" in said


def test_the_model_is_left_out_aloud_where_hypothesis_is_not_installed(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert everything.possible(["kills", "model"]) == (["kills"], ", model left out")
    assert everything.possible(["kills"]) == (["kills"], "")

    assert capsys.readouterr().out == "model     LEFT OUT: hypothesis is not installed\n"


def test_shares_of_a_part_do_all_of_it():
    kills, loaded = (everything.PARTS[name](4, SIZES) for name in ("kills", "loaded"))

    assert [words[0] for words in kills] == ["2", "2", "1", "1"]
    assert len({words[-1] for words in kills}) == 4
    assert loaded == [["1", "--seed", "1"]]


def test_figures_of_equal_processes_are_joined():
    texts = ["3 kills, longest wait 2.5 ms", "4 kills, longest wait 1.0 ms"]

    assert everything.summed(texts) == "7 kills, longest wait 2.5 ms"
    assert everything.summed(["3 kills", "an error"]) == "3 kills\nan error"
