"""Reports of measured runs, recorded steps, batches, plans and lock files."""

import functools

import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.reports.page import page
from fieldforge.workflows.reports.view import BuildView, MeasuredView, StageView
from fieldforge.workflows.summaries.report import shown, sorted_out

from ...dimensions import I, Line

pytestmark = pytest.mark.needs_compiler

MODEL = """
import fieldforge as ff
I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

@ff.field_operator
def rise(u: Line, by: float) -> Line:
    return by * (u(I + 1) - u)

@ff.program(backend=ff.cpu)
def climb(u: Line, by: float, out: Line):
    rise(u, by, out=out)

def arguments():
    return {"u": ff.ones({I: 9}), "by": 2.0, "out": ff.zeros({I: 8})}

def step():
    given = arguments()
    with ff.record(now=given["u"]) as recorded:
        climb(**given)
        climb(**given)
    return recorded
"""


@ff.field_operator
def rise(u: Line, by: float) -> Line:
    return by * (u(I + 1) - u)


@ff.program(backend=ff.cpu)
def climb(u: Line, by: float, out: Line):
    rise(u, by, out=out)


@pytest.fixture
def arguments():
    return {"u": ff.as_field([I], np.arange(9.0) ** 2), "by": 2.0, "out": ff.full({I: 8}, 7.0)}


@pytest.fixture
def model(tmp_path, monkeypatch):
    (tmp_path / "model_of_report.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return "model_of_report.py"


def test_a_measured_run_counts_bytes_and_leaves_fields_as_they_were(arguments):
    (view,) = shown((climb, arguments))
    assert (view.measured.read, view.measured.written) == (9 * 8, 8 * 8)
    assert view.measured.operations == 16
    assert view.measured.seconds > 0
    assert (arguments["out"].asnumpy() == 7.0).all()
    assert "of a copy</text>" in page([view])


def test_a_step_shows_its_calls_and_each_build_once(arguments):
    with ff.record(now=arguments["u"]) as step:
        for _ in range(3):
            climb(**arguments)
        climb(arguments["u"], 3.0, arguments["out"])
    builds, (view,) = sorted_out(shown(step))
    assert [call.arguments["by"] for call in view.calls] == ["2.0", "2.0", "2.0", "3.0"]
    assert "(slot now)" in view.calls[0].arguments["u"]
    assert len(builds) == 2
    text = page(builds, [view])
    assert "0 to 2" in text
    assert "Step of 4 calls" in step._repr_html_()


def test_a_batch_shows_what_was_built_and_what_failed():
    batch = ff.precompile(progress=None)
    batch.add(climb)
    broken = ff.cpu.workflow.insert_after("lower", refuse)
    batch.add(climb.with_backend(ff.cpu.with_workflow(broken)))
    good, bad = shown(batch)
    assert good.result == "all found"
    assert bad.result == "not built"
    assert "refused on purpose" in page([good, bad])
    assert "2 builds" in batch._repr_html_()


@pytest.mark.usefixtures("own_engine")
def test_a_batch_tells_what_it_built_and_what_the_store_had(capsys):
    def noted():
        @ff.field_operator(backend=ff.cpu)
        def doubled(u: Line) -> Line:
            return u + u

        return [view.note for view in shown(ff.precompile([doubled]))]

    assert [noted(), noted()] == [["This batch built it."], ["The store had it before."]]
    assert "doubled" in capsys.readouterr().err


def refuse(program):
    raise ff.errors.ArgumentError("refused on purpose")


def test_a_lock_file_has_every_row(model, tmp_path):
    import importlib.util
    import sys

    spec = importlib.util.spec_from_file_location("model_of_report", model)
    made = sys.modules["model_of_report"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    with ff.locking(tmp_path / "programs.lock"):
        made.climb.compile()
    done = CliRunner().invoke(main, ["report", "programs.lock", "-o", "r.html"])
    assert done.exit_code == 0, done.output
    assert "model_of_report.py:climb on &#x27;cpu&#x27;" in (tmp_path / "r.html").read_text()


def test_the_command_measures_programs_and_steps(model, tmp_path):
    given = ["report", f"{model}:climb", "--args", ":arguments", "-o", "r.html"]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0, done.output
    assert "Measured run" in (tmp_path / "r.html").read_text()
    done = CliRunner().invoke(main, ["report", f"{model}:step", "--measure", "-o", "s.html"])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "s.html").read_text()
    assert "Step of 2 calls" in text
    assert "Measured run" in text


def test_other_things_are_refused(tmp_path):
    with pytest.raises(ff.errors.ArgumentError, match="got a 'int'"):
        ff.report(3, to=tmp_path / "r.html")


def test_a_large_page_leaves_out_details_first():
    most = 100_000  # a tenth of what it is without the argument, which a tenth of the text fills
    listings = {"one": f"{'a' * 99}\n" * 200, "two": f"{'b' * 99}\n" * 200}
    stage = StageView(
        "lower", outcome="ran", text="c" * 20_000, parts={"x": "y"}, listings=listings
    )

    @functools.cache
    def made(count):
        return page([BuildView(f"p{n}", (stage,)) for n in range(count)], most=most)

    assert "pass two" in made(1)
    assert "pass two" not in made(5)
    assert "lower: output" in made(4)
    assert "lower: output" not in made(40)
    assert "1 parts" in made(40)
    assert "1 parts" not in made(150)
    assert "p149" in made(150)
    assert max(len(made(count)) for count in (1, 4, 40, 150)) < most


def test_a_page_has_a_million_letters_at_most_if_nothing_is_said():
    stage = StageView("lower", outcome="ran", text="c" * 400_000)

    assert "lower: output" in page([BuildView("p", (stage,))] * 2)
    assert "lower: output" not in page([BuildView("p", (stage,))] * 40)


def test_the_roofline_places_a_run_below_the_copy():
    view = MeasuredView(1e-3, 1.1, 6_000_000, 2_000_000, 4_000_000, 16e9)
    assert (view.rate, view.share, view.intensity) == (8e9, 0.5, 0.5)
    text = page([BuildView("p", (StageView("a", outcome="ran"),), measured=view)])
    assert "50% of a copy" in text
