"""What fieldforge has for programs, it has for stencils: recording, checks, capsules, batches."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import config
from fieldforge.cache.memory import Memory
from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import FORWARD, IJ, PARALLEL, Field, computation, interval
from fieldforge.instrumentation import metrics
from fieldforge.runtime.process.errors import CheckError
from fieldforge.workflows.batches.addresses import load_module
from fieldforge.workflows.batches.lock_file import read
from fieldforge.workflows.capsules.capsule import Capsule
from fieldforge.workflows.capsules.replaying import replay

from ..processes import python
from .stencils import COMPILED, made

needs_compiler = pytest.mark.needs_compiler
CALL = {"origin": (1, 0, 0), "domain": (2, 3, 4)}


def slope(a: Field[float], b: Field[float], w: float):
    with computation(PARALLEL), interval(...):
        b = w * (a[1, 0, 0] - a[-1, 0, 0])


def total(b: Field[float], s: Field[IJ, float]):
    with computation(FORWARD):
        with interval(0, 1):
            s = b
        with interval(1, None):
            s = s + b


def fields():
    a = np.arange(48.0).reshape(4, 3, 4) ** 2
    return a, np.zeros((4, 3, 4)), np.zeros((4, 3))


# --- recorded steps -----------------------------------------------------------------------------


# --- builds ---------------------------------------------------------------------------------------


@pytest.mark.needs_compiler
def test_stencils_are_built_in_batches_and_found_again():
    with ff.using(ff.Engine(Memory())):
        stencil = made(slope, COMPILED)
        lazy = gtscript.lazy_stencil(backend=COMPILED, definition=total)
        ff.precompile([stencil, lazy], progress=None)

        assert ff.check([stencil, lazy]) == ()
        assert "unit stride of a: K; unit stride of b: K" in stencil.program.variants


@pytest.mark.needs_compiler
def test_a_stencil_begins_its_build_when_it_is_made():
    with ff.using(ff.Engine(Memory())):
        stencil = made(slope, COMPILED)
        ff.wait_for_compilation()

        assert ff.check([stencil]) == ()


@pytest.mark.needs_compiler
def test_other_layouts_are_other_variants():
    a, b, _ = fields()
    stencil = made(slope, COMPILED)
    stencil(a, b, 1.0, **CALL)
    with pytest.warns(UserWarning, match="layout"):
        stencil(np.asfortranarray(a), np.asfortranarray(b), 1.0, **CALL)

    assert len(stencil.program.entries) == 2


def test_the_first_tier_runs_calls_without_a_compiler():
    a, b, _ = fields()

    made(slope, ff.cpu.with_options(tiers="rows"))(a, b, 2.0, **CALL)

    assert b[1:3].tolist() == (2.0 * (a[2:] - a[:-2])).tolist()


def test_stencils_for_gpus_are_made_without_one():
    stencil = made(slope, "gt:gpu")

    assert stencil.field_info["a"].boundary == ((1, 1), (0, 0), (0, 0))


def test_traces_show_every_stage():
    found = made(slope, COMPILED).program.trace(until="lower")

    assert list(found) == ["parse", "lower"]
    assert "domain.I" in found["lower"].text


# --- checks and capsules -------------------------------------------------------------------------


@pytest.mark.needs_compiler
def test_checked_calls_write_no_invalid_number():
    a, b, _ = fields()
    stencil = made(slope, COMPILED)
    stencil.checked(a=a, b=b, w=1.0, **CALL)
    before = b.copy()
    a[2, 1, 1] = np.nan

    with pytest.raises(CheckError, match="'a' is nan at I=1, J=1, K=1 before the call"):
        stencil.checked(a=a, b=b, w=1.0, **CALL)

    assert b.tolist() == before.tolist()


@pytest.mark.needs_compiler
def test_capsules_replay_a_call(tmp_path):
    a, b, _ = fields()

    path = made(slope, COMPILED).capture(a=a, b=b, w=2.0, path=tmp_path / "call.capsule", **CALL)

    capsule = Capsule.load(path)
    assert capsule.head["written"] == ["b"]
    assert replay(capsule).agrees
    assert replay(capsule, "reference").agrees


def test_reports_show_stencils(tmp_path):
    path = ff.report(made(slope), to=tmp_path / "report.html")

    assert "slope" in path.read_text()


@pytest.mark.needs_compiler
def test_stencils_are_tuned():
    a, b, _ = fields()
    given = {"a": a, "b": b, "w": 1.0, **CALL}

    found = ff.tune(made(slope, COMPILED), given, budget=1.0, options=["jam"], progress=None)

    assert "slope" in found.summary


def test_metrics_count_calls(monkeypatch):
    a, b, _ = fields()
    stencil = made(slope)
    monkeypatch.setattr(config, "COLLECT_METRICS_LEVEL", metrics.MINIMAL)
    stencil(a, b, 1.0, **CALL)

    (found,) = (source for key, source in metrics.sources.items() if key.startswith("slope<"))
    assert len(found.metrics["total"].samples) == 1


@pytest.mark.needs_compiler
def test_lock_files_list_the_stencils_of_a_model(tmp_path, monkeypatch):
    (tmp_path / "model.py").write_text(MODEL.replace("numpy", COMPILED))
    monkeypatch.chdir(tmp_path)
    with ff.locking("model.lock"):
        model = load_module("model.py")
        ff.precompile([model.copy], progress=None)

    (locked,) = read(tmp_path / "model.lock")
    assert locked.program == "model.py:copy"
    assert locked.order(str(tmp_path)).is_stored()


MODEL = """
from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import *
@gtscript.stencil(backend='numpy')
def copy(a: Field[float], b: Field[float]):
    with computation(PARALLEL), interval(...):
        b = a
"""


# --- processes ------------------------------------------------------------------------------------


def test_a_command_finds_stencils(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)

    done = python(
        "-m", "fieldforge", "show", "model.py:copy", "--stage", "lower", check=True, cwd=tmp_path
    )

    assert "domain.I" in done.stdout
