"""A capsule replays a call elsewhere, and a bisection names what makes a difference."""

import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.workflows.capsules.bisecting import bisect
from fieldforge.workflows.capsules.capsule import Capsule
from fieldforge.workflows.capsules.replaying import replay
from fieldforge.workflows.capsules.values import CapsuleError
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.entries.entry_point import captured_names

from .smoothing import E2V, E, E2VDim, I, J, V, gather, limit, smooth, split, third

pytestmark = pytest.mark.needs_compiler


def planes(*, start: int = 0):
    values = np.random.default_rng(5).random((7, 5))
    domain = {I: (start, start + 7), J: 5}
    made = [ff.as_field(ff.domain(domain), values * scale) for scale in (1.0, 0.0, 0.0)]
    return dict(zip(("u", "out", "other"), made, strict=True), by=0.7)


@pytest.fixture
def capsule(tmp_path):
    return Capsule.load(smooth.capture(**planes(), path=tmp_path / "a.capsule"))


def test_a_capture_makes_the_call(tmp_path):
    captured, called = planes(), planes()
    smooth.capture(**captured, path=tmp_path / "a.capsule")
    smooth(**called)
    for name in ("u", "out", "other"):
        np.testing.assert_array_equal(captured[name].asnumpy(), called[name].asnumpy())


@pytest.mark.parametrize("backend", [None, "reference", "cpu"])
def test_a_replay_agrees_on_every_backend(capsule, backend):
    found = replay(capsule, backend)
    assert found.agrees, found.text


def test_a_replay_tells_another_result(capsule):
    arrays = {**capsule.arrays, "after/out": capsule.arrays["after/out"] + 1.0}
    found = replay(attrs.evolve(capsule, arrays=arrays))
    assert not found.agrees
    assert [each.leaf for each in found.differences] == ["out"]
    assert (
        "differs: out, 35 of 35 values, the first at array index (0, 0): 0.0 for 1.0" in found.text
    )


def test_a_replay_names_what_is_built_in_another_way(tmp_path):
    changed = smooth.with_backend(ff.cpu.with_options(jam=False))
    made = Capsule.load(changed.capture(**planes(), path=tmp_path / "a.capsule"))
    assert replay(made).changed == ()
    assert replay(made, "cpu").changed == ("codegen.jam = True, captured with False",)


def test_another_process_replays_without_the_module_of_the_program(tmp_path):
    path = smooth.capture(**planes(), path=tmp_path / "a.capsule")
    code = "from fieldforge.workflows.commands.cli import main; main()"
    command = [sys.executable, "-c", code, "replay", str(path)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=tmp_path, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert "smooth, " in done.stdout
    assert "The results agree." in done.stdout


def test_tables_tuples_and_operators_on_a_domain_travel(tmp_path):
    table = ff.as_connectivity([E, E2VDim], V, np.array([[0, 1], [1, 2], [2, 3]]))
    vertices, edges = ff.as_field([V], np.arange(4.0)), ff.zeros({E: 3})
    path = gather.capture(vertices, edges, path=tmp_path / "g", offset_provider={E2V.value: table})
    assert replay(Capsule.load(path)).agrees

    given = planes()
    path = split.capture((given["u"], given["u"]), (given["out"], given["other"]), path=path)
    assert replay(Capsule.load(path), "reference").agrees
    assert Capsule.load(path).head["written"] == ["out.0", "out.1"]

    given = planes(start=3)
    path = third.with_backend(ff.cpu).capture(
        given["u"], 0.1, out=given["out"], domain={I: (4, 6), J: (1, 3)}, path=path
    )
    again = replay(Capsule.load(path))
    assert again.agrees, again.text
    assert (Capsule.load(path).arrays["after/out"] != 0).sum() == 4


def test_two_arguments_that_are_one_field_stay_one(tmp_path):
    given = planes()
    given["other"] = given["u"]
    made = Capsule.load(smooth.capture(**given, path=tmp_path / "a"))
    assert set(made.arrays) == {"before/u", "before/out", "after/u", "after/out", "after/other"}
    assert replay(made, "reference").agrees


def test_an_embedded_program_is_replayed_by_the_reference(tmp_path):
    embedded = smooth.with_backend(None)
    made = Capsule.load(embedded.capture(**planes(), path=tmp_path / "a"))
    found = replay(made)
    assert found.backend == "reference"
    assert made.head["backend"] is None
    assert found.agrees, found.text


def test_a_seed_keeps_statistics_and_no_values(tmp_path):
    given = planes()
    before = given["u"].asnumpy().copy()
    path = smooth.capture(**given, path=tmp_path / "a", seed=11)
    np.testing.assert_array_equal(given["u"].asnumpy(), before)
    made = Capsule.load(path)
    assert made.arrays == {}
    assert replay(made).agrees
    assert replay(made, "reference").agrees
    made.head["digests"]["out"] = "0" * 64
    assert "out has another digest than the record" in replay(made).text


def test_a_call_that_raises_is_captured_and_raises(tmp_path):
    given = planes()
    given["out"] = ff.zeros({I: 20, J: 5})
    with pytest.raises(ff.errors.DomainError, match="too small"):
        smooth.capture(**given, path=tmp_path / "a")
    found = replay(Capsule.load(tmp_path / "a"))
    assert found.agrees, found.text
    assert found.expected.startswith("DomainError")


def test_the_environment_asks_for_a_capsule_of_the_first_call(tmp_path, monkeypatch, setting):
    monkeypatch.chdir(tmp_path)
    setting(capture=("smooth",))
    try:
        given = planes()
        for _ in range(2):
            smooth(**given)
    finally:
        captured_names.discard("smooth")
    made = Capsule.load(tmp_path / "smooth.capsule")
    assert (made.arrays["before/out"] == 0).all()
    assert replay(made).agrees


def test_no_capsule_is_unpickled_or_believed(tmp_path, capsule):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    path = capsule.save(tmp_path / "b")
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    array = np.array([Bomb()], dtype=object)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        with archive.open("arrays/before/x.npy", "w") as stream:
            np.lib.format.write_array(stream, array, allow_pickle=True)
    with pytest.raises(CapsuleError, match="no capsule, or it is damaged"):
        Capsule.load(path)
    Path(path).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(CapsuleError, match="no capsule"):
        Capsule.load(path)
    assert not (tmp_path / "exploded").exists()


def test_another_format_is_refused(tmp_path, capsule):
    capsule.head["format"] = 99
    with pytest.raises(CapsuleError, match="format 99"):
        Capsule.load(capsule.save(tmp_path / "b"))


def test_an_argument_that_no_capsule_can_hold_is_refused(tmp_path):
    with pytest.raises(CapsuleError, match="Argument 'by' of type 'str'"):
        smooth.capture(**{**planes(), "by": "much"}, path=tmp_path / "a")


# --- bisect ---------------------------------------------------------------------------------------


OF_LOOPS = "fieldforge.stages.ir.loops."


def shorten(kernel, rules):
    """Do wrong on purpose: every multiplication becomes an addition."""

    def wrong(row):
        return attrs.evolve(row, op="add") if getattr(row, "op", None) == "mul" else row

    def inside(value):
        if isinstance(value, tuple):
            return tuple(map(inside, value))
        if attrs.has(type(value)) and type(value).__module__.startswith(OF_LOOPS):
            changed = {f.name: inside(getattr(value, f.name)) for f in attrs.fields(type(value))}
            return wrong(attrs.evolve(value, **changed))
        return value

    return inside(kernel)


def test_a_bisection_names_statement_and_pass(capsule):
    wrong = ff.cpu.with_passes(shorten, before="plan_arena")
    found = bisect(capsule, wrong, ff.cpu)
    assert found.differences
    assert any("pass: 'shorten' of stage 'codegen'" in line for line in found.findings), found.text
    assert "statement: 1 of 3, the call of 'scaled' that writes other" in found.text


def test_a_bisection_names_option_and_pass_of_lowering(capsule):
    strict = ff.cpu.with_options(numerics="strict")
    found = bisect(capsule, ff.cpu, strict)
    assert "first tier: it differs too" in found.text
    assert "option: lower.numerics, codegen.numerics; with 'strict'" in found.text
    assert "pass: 'contract' of stage 'lower': after it, the results differ" in found.text
    assert "statement: 2 of 3, the call of 'third' that writes out" in found.text
    assert bisect(capsule, ff.cpu, strict, tolerance=1e-12).findings == ()


def wrong_squares(kernel, rules):
    """Do wrong on purpose: what is multiplied by itself is added to itself."""

    def inside(value):
        if isinstance(value, tuple):
            return tuple(map(inside, value))
        if attrs.has(type(value)) and type(value).__module__.startswith(OF_LOOPS):
            changed = {f.name: inside(getattr(value, f.name)) for f in attrs.fields(type(value))}
            made = attrs.evolve(value, **changed)
            is_square = getattr(made, "op", None) == "mul" and len(set(made.args)) == 1
            return attrs.evolve(made, op="add") if is_square else made
        return value

    return inside(kernel)


def test_a_bisection_goes_into_the_operators(tmp_path):
    given = {name: each for name, each in planes().items() if name != "other"}
    made = Capsule.load(limit.capture(**given, path=tmp_path / "a.capsule"))
    found = bisect(made, ff.cpu.with_passes(wrong_squares, before="plan_arena"), ff.cpu)
    assert "inside: row %6 of operator 'slope' in 'limited': (here * here)" in found.text, (
        found.text
    )

    assert "of stage 'lower'" not in found.text

    strict = ff.cpu.with_options(numerics="strict")
    found = bisect(made, ff.cpu, strict)
    assert "of operator 'limited': (product + (u * 0.3)), which makes 'shifted'" in found.text


def test_executions_that_agree_have_nothing_to_find(capsule):
    assert "agree, nothing to find" in bisect(capsule, ff.cpu, ff.reference).text


def test_the_commands_take_text_and_give_text(tmp_path, capsule):
    path = str(capsule.save(tmp_path / "b"))
    done = CliRunner().invoke(main, ["bisect", path, "--option", "numerics=strict"])
    assert done.exit_code == 0, done.output
    assert "pass: 'contract'" in done.output
    done = CliRunner().invoke(main, ["replay", path, "--backend", "reference"])
    assert done.exit_code == 0, done.output
    wrong = {**capsule.arrays, "after/u": capsule.arrays["after/u"] * 2}
    attrs.evolve(capsule, arrays=wrong).save(path)
    done = CliRunner().invoke(main, ["replay", path])
    assert done.exit_code == 1
    assert "differs: u" in done.output


def test_the_head_is_readable_json(tmp_path, capsule):
    with zipfile.ZipFile(capsule.save(tmp_path / "b")) as archive:
        head = json.loads(archive.read("capsule.json"))
    assert "third(u, by, out=out[1:-1, :])" in head["source"]["text"]
    assert head["stages"]["codegen"]["parts"]["option.numerics"] == "'contract'"
    assert head["closure"]["third"] == "field_operator third"


def test_a_call_that_reads_beyond_a_field_is_replayed(tmp_path):
    @ff.field_operator(backend=ff.cpu)
    def upper(
        u: ff.Field[ff.Dims[I, J], float], is_last: ff.Field[ff.Dims[I], bool]
    ) -> ff.Field[ff.Dims[I, J], float]:
        return ff.where(is_last, 0.0, u(I + 1))

    is_last = ff.as_field([I], np.arange(7) == 6)
    path = upper.capture(
        planes()["u"], is_last, out=ff.zeros({I: 7, J: 5}), path=tmp_path / "a.capsule"
    )

    assert replay(Capsule.load(path)).agrees
