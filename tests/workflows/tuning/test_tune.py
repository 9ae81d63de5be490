"""`tune` on real fields: which options it finds by a cost that is given, and what it keeps."""

import re
import tomllib

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.errors import ArgumentError, NotCompilableError, OptionError
from fieldforge.workflows.backends.backend import BACKENDS
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.engine.engine import Engine
from fieldforge.workflows.options.database import database, tuned_file, use_options
from fieldforge.workflows.options.machine_names import names_of
from fieldforge.workflows.options.tags import backend_for
from fieldforge.workflows.tuning import bench as benches, tune as tuning
from fieldforge.workflows.tuning.journal import Journal
from fieldforge.workflows.tuning.report import Report
from fieldforge.workflows.tuning.search import Trial
from fieldforge.workflows.tuning.tune import TuningError, TuningInterrupt
from fieldforge.workflows.tuning.tuned_file import Winner, keep, kept
from fieldforge.workflows.tuning.verdict import Verdict

from ...dimensions import I, J, K, Levels

NAME = f"{__name__}:smooth"
SPOILED = '[[when]]\nprogram = "smooth"\nset.tile_size = 2\nset.inline = ["%20"]\nset.jam = false\n'


@ff.field_operator
def laplacian(u: Levels) -> Levels:
    return u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) - 4.0 * u


@ff.field_operator
def smoothed(u: Levels) -> Levels:
    return u - 0.1 * laplacian(laplacian(u))


@ff.program
def smooth(u: Levels, out: Levels):
    smoothed(u, out=out)


@ff.field_operator
def halved(u: Levels, rate: float) -> Levels:
    return u * rate


@ff.program
def decay(u: Levels, rate: float):
    halved(u, rate, out=u)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """One store for all tests here: they try the same candidates again and again."""
    return Disk(tmp_path_factory.mktemp("store"))


@pytest.fixture
def engine(store):
    return Engine(store)


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "model.toml"
    file.write_text(SPOILED)
    use_options(file)
    return file


@pytest.fixture
def fields():
    domain = {I: (-2, 10), J: (-2, 10), K: 3}
    u = ff.as_field(domain, np.random.default_rng(3).random((12, 12, 3)))
    return {"u": u, "out": ff.zeros({I: 8, J: 8, K: 3})}


def price(candidate):
    """Tiles of 32 points are best; a program that computes rows together is twice as fast."""
    options = dict(candidate.options)
    return (1.0 + abs(options.get("codegen.tile_size", 2) - 32) / 100) * (
        0.5 if options.get("codegen.jam", False) else 1.0
    )


def tuned(program, fields, **more):
    more = {"cost": price, "progress": None, "options": ["tile_size", "jam"]} | more
    return ff.tune(program, fields, **more)


def test_the_winner_is_kept_with_what_it_was_measured_on(own_engine, model, fields):
    report = tuned(smooth.with_backend("cpu"), fields)

    (entry,) = tomllib.loads((model.parent / "model.tuned.toml").read_text())["when"]
    assert dict(report.options)["codegen.jam"] is True
    assert entry["program"] == NAME
    assert entry["backend"] == "cpu"
    assert entry["set"]["codegen"]["jam"] is True
    assert entry["tuned"].keys() == {"date", "machine", "gain", "spread", "fields"}
    assert entry["tuned"]["gain"] == pytest.approx(report.gain, abs=1e-3)
    assert report.gain >= 2.0
    assert "times faster with codegen.jam = true" in report.summary


def test_the_file_names_values_by_their_expressions(own_engine, model, fields):
    def in_arrays(candidate):
        return 1.0 if dict(candidate.options).get("codegen.arrays") else 2.0

    found = [
        tuned(smooth.with_backend("cpu"), fields, cost=in_arrays, options=["arrays"])
        for _ in range(2)
    ]

    (entry,) = tomllib.loads((model.parent / "model.tuned.toml").read_text())["when"]
    assert all(re.fullmatch("%:[0-9a-f]{12}", each) for each in entry["set"]["codegen"]["arrays"])
    rows = dict(found[0].options)["codegen.arrays"]
    assert all(re.fullmatch(r"%\d+", each) for each in rows)
    assert found[1].options == found[0].options
    assert backend_for("cpu", NAME).options["codegen.arrays"] != rows


@pytest.mark.parametrize("had", [(), (("codegen.tile_size", 16),)])
def test_a_winner_that_the_last_comparison_refutes_is_not_kept(
    own_engine, model, fields, had, monkeypatch
):
    file, program = tuned_file(model), smooth.with_backend("cpu")
    arch = names_of(program.backend.target)[-1]
    if had:
        keep(file, Winner(NAME, "cpu", arch, had, "2026-01-01", "this one", 1.1, 0.01))
    monkeypatch.setattr(tuning, "in_turns", lambda *_: Verdict(1.0, 0.001))

    report = tuned(program, fields)

    assert report.summary.startswith("Nothing that was tried")
    assert kept(file, NAME, "cpu", arch) == had


def test_a_later_start_uses_what_was_found_and_says_where_it_comes_from(own_engine, model, fields):
    tuned(smooth.with_backend("cpu"), fields)

    backend = backend_for("cpu", NAME)

    assert backend.options["codegen.jam"] is True
    found = database().effective(BACKENDS["cpu"], NAME)
    jam = next(each for each in found if each.option.name == "codegen.jam")
    assert jam.origin.layer == "tuned"
    assert [str(origin).rpartition("/")[2] for _, origin in jam.overruled] == [
        "model.toml:5",
        "default",
    ]


def test_the_next_run_measures_nothing_again(own_engine, model, fields):
    program = smooth.with_backend("cpu")
    first = tuned(program, fields)
    measured = []

    def counted(candidate):
        measured.append(candidate.options)
        return price(candidate)

    again = tuned(smooth.with_backend("cpu"), fields, cost=counted)

    assert again.options == first.options
    assert all(trial.said == "measured before" for trial in again.trials if trial.verdict)
    assert set(measured) == {(), first.options}  # the comparison at the end


@pytest.mark.parametrize(
    "line",
    [
        "[]", "3", "null", "{", "[" * 100_000, "\xff",
        '{"context": "here"}', '{"context": ["here"]}',
        '{"context": "here", "code": "b", "before": {}, "choice": {}, "ratio": 0, "spread": 0}',
        '{"context": "here", "code": {}, "before": {}, "choice": {}, "ratio": 1, "spread": 0}',
        '{"context": "here", "code": "b", "before": {}, "choice": {}, "ratio": "1", "spread": 0}',
        '{"context": "here", "code": "b", "before": {}, "choice": {}, "ratio": NaN, "spread": 0}',
    ],
)  # fmt: skip
def test_a_line_of_another_shape_is_no_trial(tmp_path, line):
    good = '{"context": "here", "code": "a", "before": {}, "choice": {}, "ratio": 0.5, "spread": 0}'
    path = tmp_path / "model.jsonl"
    path.write_bytes(f"{line}\n{good}\n".encode("latin-1"))

    assert Journal(path, "here").known() == {"a": Verdict(0.5, 0)}


@pytest.mark.parametrize(
    "text",
    [
        "when = 3", "[[when]]\nset = 1", "a = " + "[" * 5_000,
        "[[when]]\ntuned = 3", "[[when]]\ntuned.date = 1979-05-27", "[[when]]\ntuned.more = 1",
        "[[when]]\nset.flags = ['-wrapper', 'x']", "[[when]]\nset.numerics = 'fast'",
    ],
)  # fmt: skip
def test_a_tuned_file_of_another_shape_is_not_written_to(tmp_path, text):
    path = tmp_path / "a.tuned.toml"
    path.write_text(text)
    winner = Winner("m:p", "cpu", "", (("codegen.jam", True),), "", "", 1.5, 0.1)

    with pytest.raises(OptionError):
        keep(path, winner)

    assert path.read_text() == text


def test_a_word_with_quotes_and_ends_of_lines_is_read_again(tmp_path):
    path = tmp_path / "a.tuned.toml"
    machine = 'a "machine"\n\\ \x7f é'
    keep(path, Winner("m:p", "cpu", "", (("codegen.jam", True),), "", machine, 1.5, 0.1))

    assert tomllib.loads(path.read_text())["when"][0]["tuned"]["machine"] == machine


def test_other_programs_in_the_file_stay(own_engine, model, fields):
    other = {"u": fields["u"], "rate": 0.5}
    tuned(
        decay.with_backend("cpu"), other, cost=lambda c: 2.0 - len(c.options), options=["prefetch"]
    )
    tuned(smooth.with_backend("cpu"), fields)
    tuned(smooth.with_backend("cpu"), fields)

    entries = tomllib.loads((model.parent / "model.tuned.toml").read_text())["when"]

    assert len({entry["program"] for entry in entries}) == len(entries)
    assert NAME in {entry["program"] for entry in entries}


def test_fields_have_their_first_values_again(own_engine, fields):
    before = fields["u"].asnumpy().copy()

    ff.tune(decay.with_backend("cpu"), {"u": fields["u"], "rate": 0.5}, progress=None, budget=0.0)

    assert np.array_equal(fields["u"].asnumpy(), before)


def test_without_a_file_nothing_is_written(own_engine, fields, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    report = tuned(smooth.with_backend(ff.cpu.with_options(jam=False)), fields)

    assert report.options
    assert report.file is None
    assert not [each for each in tmp_path.iterdir() if "tuned" in each.name]


def test_ctrl_c_keeps_what_was_found(own_engine, model, fields):
    file = model.parent / "model.tuned.toml"

    def interrupted(candidate):
        if file.is_file():  # a better choice was found
            raise KeyboardInterrupt
        return price(candidate)

    with pytest.raises(TuningInterrupt) as caught:
        tuned(
            smooth.with_backend("cpu"),
            fields,
            cost=interrupted,
            options=["jam", "unswitch", "prefetch", "tile_size"],
        )

    assert dict(caught.value.report.options)["codegen.jam"] is True
    assert caught.value.report.file == file


def test_nothing_faster_is_said(own_engine, fields):
    report = tuned(smooth.with_backend("cpu"), fields, cost=lambda candidate: 1.0)

    assert report.options == ()
    assert report.summary == f"Nothing that was tried on '{NAME}' is faster than noise."


def test_the_table_names_what_each_trial_was_compared_with():
    faster, equal = Verdict(0.8, 0.01), Verdict(1.0, 0.01)
    jam, tile = ("codegen.jam", False), ("codegen.tile_size", 8)
    trials = (Trial((), (jam,), faster), Trial((jam,), (tile,), equal))

    report = Report(NAME, "cpu", (), None, trials, is_over=True)

    assert report.rows == [
        ("codegen.jam = false", "the start", "faster: 1.250 ± 0.013 times as fast"),
        (
            "codegen.tile_size = 8",
            "codegen.jam = false",
            "no difference beyond noise: 1.000 ± 0.010 times as fast",
        ),
    ]


def test_the_summary_says_that_a_gain_did_not_last_and_what_a_next_run_does():
    trial = Trial((), (("codegen.jam", False),), Verdict(0.8, 0.01))
    report = Report(NAME, "cpu", (), None, (trial,), is_over=True)

    start = f"Nothing that was tried on '{NAME}' is faster than noise. What looked faster was not "

    assert report.summary == f"{start}when measured for longer. The budget ended the search."
    logged = attrs.evolve(report, is_logged=True)
    assert logged.summary.endswith(" The budget ended the search; a next run goes on.")


def test_a_candidate_with_other_results_is_refused(own_engine, fields, monkeypatch):
    real = benches.disagreement
    calls = []

    def wrong_the_second_time(found, expected):
        calls.append(found)
        return real(found, expected) if len(calls) == 1 else "'out' differs from the reference"

    monkeypatch.setattr(benches, "disagreement", wrong_the_second_time)
    report = tuned(smooth.with_backend("cpu"), fields, options=["jam"], cost=price)

    assert report.options == ()
    assert [trial.said for trial in report.trials] == ["'out' differs from the reference"]


def test_a_program_that_is_wrong_from_the_start_is_an_error(own_engine, fields, monkeypatch):
    monkeypatch.setattr(benches, "disagreement", lambda found, expected: "'out' differs")

    with pytest.raises(TuningError, match="cannot be tuned: 'out' differs"):
        tuned(smooth.with_backend("cpu"), fields)


def test_a_set_up_is_tuned_with_its_sizes(own_engine, fields):
    step = ff.setup(smooth, backend="cpu", constant_args={"u": fields["u"]}, precompile=False)

    report = tuned(
        step, {"out": fields["out"]}, options=["jam"], cost=lambda c: 2.0 - len(c.options)
    )

    assert dict(report.options) == {"codegen.jam": False}


def test_mistakes_are_named(own_engine, fields):
    program = smooth.with_backend("cpu")

    with pytest.raises(OptionError, match=r"'numerics'.*cannot be tuned: it changes results"):
        tuned(program, fields, options=["numerics"])
    with pytest.raises(OptionError, match="no option 'jamm'") as caught:
        tuned(program, fields, options=["jamm"])
    assert "Did you mean 'jam'?" in str(caught.value)
    with pytest.raises(ArgumentError, match="missing: 'out'"):
        tuned(program, {"u": fields["u"]})
    with pytest.raises(NotCompilableError, match="runs embedded"):
        tuned(smooth, fields)


def test_the_command_shows_a_table_and_writes_the_file(tmp_path):
    (tmp_path / "tuned_model.py").write_text(
        "import fieldforge as ff\n"
        "I = ff.Dimension('I')\n"
        "Line = ff.Field[ff.Dims[I], ff.float64]\n"
        "@ff.field_operator\n"
        "def added(u: Line, by: float) -> Line:\n"
        "    return u + by\n"
        "@ff.program\n"
        "def add(u: Line, by: float, out: Line):\n"
        "    added(u, by, out=out)\n"
        "def arguments():\n"
        "    return {'u': ff.ones({I: 4}), 'by': 1.0, 'out': ff.zeros({I: 4})}\n"
    )
    file = tmp_path / "model.toml"  # made by the first run
    address = f"{tmp_path / 'tuned_model.py'}:add"

    def run(words):
        command = ["tune", address, "--args", words, "--option", "jam", "--file", str(file)]
        return CliRunner().invoke(main, [*command, "--budget", "1s"])

    for words in ("I=8, by=0.5", ":arguments"):
        result = run(words)
        assert result.exit_code == 0, result.output
        assert "'tuned_model:add' is faster than noise." in result.output
    assert "'tune' writes what it found" in file.read_text()
    assert "tried  compared with  found" in result.output
    assert "has no size: add 'I=...'" in run("by=0.5").output
    assert "u.I=-1:257" in run("I=8, u.I=2:8, by=0.5").output
    assert "has no value: add 'by=...'" in run("I=8").output


@attrs.define
class Clock:
    """Seconds that pass only where a measurement says so."""

    now: float = 0.0

    def __call__(self):
        return self.now


def test_measurements_end_with_the_budget(own_engine, fields):
    clock, measured = Clock(), []

    def slow(candidate):
        clock.now += 2.0
        measured.append(candidate.options)
        return 1.0

    report = tuned(smooth.with_backend("cpu"), fields, cost=slow, clock=clock, budget=15.0)

    assert clock.now <= 15.0
    assert 4 <= len(measured) < 10  # a comparison needs five rounds of two
    assert report.trials == ()
    assert "The budget ended the search" in report.summary


def test_the_last_comparison_ends_with_the_budget_too(own_engine, model, fields):
    clock = Clock()

    def slow(candidate):
        clock.now += 0.5
        return price(candidate)

    report = tuned(
        smooth.with_backend("cpu"), fields, cost=slow, clock=clock, budget=60.0, options=["jam"]
    )

    assert clock.now <= 60.0
    assert dict(report.options) == {"codegen.jam": True}


def test_no_more_code_is_generated_after_the_budget(own_engine, fields, monkeypatch):
    clock = Clock()
    real = benches.RealBench.source

    def slow(bench, choice):
        clock.now += 1.0
        return real(bench, choice)

    monkeypatch.setattr(benches.RealBench, "source", slow)

    tuned(smooth.with_backend("cpu"), fields, options=["tile_size"], clock=clock, budget=5.0)

    assert clock.now <= 5.0  # there are seven sizes


@pytest.mark.parametrize("budget", ["5min", -1, float("nan"), float("inf"), True, None])
def test_a_budget_is_a_number_of_seconds(own_engine, fields, budget):
    with pytest.raises(OptionError, match=r"Option 'budget' takes a number of seconds, 0 or more"):
        ff.tune(smooth.with_backend("cpu"), fields, progress=None, budget=budget)
