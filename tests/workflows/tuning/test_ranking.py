"""A tuning builds the changes with the best predictions first, and keeps what it timed."""

import gzip
import json

import pytest
from click.testing import CliRunner
from tests.generated.large import large_case, program_of
from tests.generated.large_arguments import arguments_of

import fieldforge as ff
from fieldforge.stages.codegen.plan.machine import EPYC
from fieldforge.workflows.backends.backend import BACKENDS
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.options.database import tuned_file
from fieldforge.workflows.tuning.bench import RealBench
from fieldforge.workflows.tuning.candidates import changed, tunable_options
from fieldforge.workflows.tuning.ranking import Ranking, machine_of
from fieldforge.workflows.tuning.refit import sizes_of
from fieldforge.workflows.tuning.subject import make_subject

STENCILS = 51  # seeds
SMALL = 3


def ranking_of(seed, backend=ff.cpu, options=None, machine=EPYC, left=lambda: 3600.0):
    given = arguments_of(large_case(seed), 10_000, backend)
    subject = make_subject(program_of(large_case(seed)).with_backend(backend), given)
    bench = RealBench(subject, backend, None, left, {})
    sizes = sizes_of(subject.arguments, subject.provider)
    return Ranking(bench, tunable_options(backend, options), sizes, machine)


def test_the_best_predictions_come_first():
    ranking = ranking_of(STENCILS)

    changes = ranking(())

    seconds = [ranking.seconds(change) for change in changes]
    assert seconds == sorted(seconds)
    assert seconds[0] < 0.95 * ranking.seconds(())
    assert {name for change in changes for name, _ in change} >= {
        "codegen.arrays", "codegen.inline", "codegen.passes", "codegen.prefetch",
        "codegen.tile_size",
    }  # fmt: skip


def test_changes_are_of_the_choice_that_is_the_best_so_far():
    ranking = ranking_of(STENCILS)
    first = (("codegen.inline", ("%64",)),)

    others = [dict(changed(first, change)) for change in ranking(first)]

    assert any("%64" in each.get("codegen.arrays", ()) for each in others)
    assert any({"%64", "%15"} <= {*each.get("codegen.inline", ())} for each in others)


def test_only_chosen_options_change():
    changes = ranking_of(STENCILS, options=["prefetch", "jam"])(())

    assert {name for change in changes for name, _ in change} <= {"codegen.prefetch", "codegen.jam"}
    assert (("codegen.prefetch", False),) in changes


def test_nothing_is_generated_beyond_the_budget():
    assert ranking_of(SMALL, left=lambda: 0.0)(()) == []


@pytest.mark.parametrize(("backend", "name"), [(ff.cpu, None), (ff.gpu, "h200")])
def test_platforms_with_a_model_are_ranked(backend, name):
    machine = machine_of(backend)

    assert name in (None, machine.name)


def test_other_platforms_are_not_ranked():
    assert machine_of(BACKENDS["rows"]) is None


def test_plans_that_were_timed_are_kept_for_a_fit(tmp_path):
    file = tmp_path / "model.toml"
    file.touch()
    given = arguments_of(large_case(SMALL), 10_000, ff.cpu)

    ff.tune(
        program_of(large_case(SMALL)).with_backend("cpu"), given, file=tuned_file(file),
        options=["prefetch"], progress=None, budget=30.0,
    )  # fmt: skip

    with gzip.open(tmp_path / "model.tuned.plans.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    assert len(rows) == 2
    assert len({row["loops"] for row in rows}) == 2
    for row in rows:
        assert 0 < row["seconds"] < 1
        assert 0 < row["predicted"] < 1
        assert row["program"].endswith(f"program_{SMALL}")
    fitted = CliRunner().invoke(
        main, ["doctor", "--model", str(tmp_path / "model.tuned.plans.jsonl.gz")]
    )
    assert fitted.exit_code == 0, fitted.output
    assert "2 plans" in fitted.output
