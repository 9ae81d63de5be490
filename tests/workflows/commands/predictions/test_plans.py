"""`explain --sizes` tells predicted seconds, `doctor --model` fits the costs behind them."""

import json

import pytest
from click.testing import CliRunner

from fieldforge.runtime.calls.machine import machine_file
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.commands.predictions.plans import sizes_of_loops
from fieldforge.workflows.tuning.refit import costs_of, node, plain

DIFFUSE = "fieldforge.examples.diffusion:diffuse"


def told(*words: str):
    return CliRunner().invoke(main, [*words])


def explain(*words: str):
    return told("explain", DIFFUSE, "--backend", "cpu", *words)


@pytest.mark.needs_compiler
def test_the_seconds_of_each_choice_are_told():
    done = explain("--sizes", "I=256,J=256,K=80", "--machine", "epyc")

    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    (first,) = [n for n, line in enumerate(lines) if line.startswith("predicted: ")]
    assert lines[first].endswith("s to build (epyc)")
    others = [line.rpartition(";")[2].split() for line in lines[first + 1 :]]
    names = {line.split(" on ")[0].split(" in place ")[0].strip() for line in lines[first + 1 :]}
    assert {"%31", "%49", "%59", "prefetch", "jam", "non-temporal stores", "pass slide"} <= names
    assert {other for other, *_ in others} == {"array", "off"}
    assert [float(number) for _, number, _ in others] == sorted(float(n) for _, n, _ in others)


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sizes", "I"), "such as 'I=128,J=128,K=80', got 'I'"),
        (("--sizes", "Q=3"), "has no dimension 'Q'; it has I, J, K"),
        (("--sizes", "I=3", "--machine", "abacus"), "no class 'abacus'; there are epyc"),
    ],
)
def test_wrong_sizes_are_refused(words, said):
    done = explain(*words)

    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


@pytest.mark.needs_compiler
def test_costs_are_fitted_to_kept_plans(tmp_path):
    loops = (
        told("show", DIFFUSE, "--stage", "codegen", "--loops", "--backend", "cpu").output.rstrip()
        + "\n"
    )
    rows = []
    for extent in (32, 64, 128):
        sizes = sizes_of_loops(loops, {"I": extent, "J": extent, "K": 20}, {})
        row = {"loops": loops, "sizes": plain(sizes), "seconds": 1e-9 * extent**3}
        rows.append(json.dumps(row))
    (tmp_path / "0.jsonl").write_text("\n".join(rows) + "\n")
    before = costs_of(node())

    done = told("doctor", "--model", str(tmp_path))

    assert done.exit_code == 0, done.output
    kept = json.loads(machine_file().read_text())["costs"]
    assert kept.keys() == before.keys()
    assert kept != before
    assert costs_of(node()) == kept
