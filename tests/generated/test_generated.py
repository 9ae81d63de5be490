import functools
import random
import subprocess
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import fieldforge as ff
from fieldforge.cache.memory import Memory

from . import fuzz, running
from .building import LIMITS
from .demand import Demand, gathered, halved, reduced, shifted
from .direct import only_call
from .entrances import entrance_of, recorded, set_up, split
from .expressions import Scope
from .features import EVERY
from .fuzz import Options, draw_batch, work
from .grids import TABLES
from .literals import specials, spell
from .memory import arguments_of, in_one_memory, is_intact, laid_out
from .neighbours import slot
from .pieces import Draw
from .printing import as_test
from .programs import program
from .running import Run, _define, _embedded, _enter, check, difference, schedule_of
from .shrinking import shrink

ROOT = Path(__file__).parents[2]
FEATURES = frozenset()  # what hypothesis draws from; the batch below has all that is supported

pytestmark = pytest.mark.needs_compiler


@pytest.mark.parametrize("count", [16, pytest.param(48, marks=pytest.mark.in_full)])
def test_a_batch_of_generated_programs_agrees(count):
    # In a process of its own: the children that it forks could not start OpenMP threads if
    # an earlier test of this process had started some.
    command = [sys.executable, "-m", "tests.generated.fuzz", str(count), "--jobs", "1"]
    command += ["--shrink", "20", *([] if count > 16 else ["--optimise=-O0"])]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} programs" in done.stdout


@st.composite
def cases(draw, features):
    """Draw programs with hypothesis."""
    return program(Draw(lambda count: draw(st.integers(0, count - 1))), features)


@given(cases(FEATURES))
@settings(
    max_examples=40, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
def test_programs_that_hypothesis_draws_agree_before_they_are_compiled(case):
    found = check([case], until="reference")

    assert not found, as_test(found[0], "test_executions_agree")


# --- the checker itself -----------------------------------------------------------------------


def wrong_case():
    """Return a case that the definition stage refuses: its operator adds a bool."""
    case = draw_batch(seed=0, batch=0, count=1, features=frozenset())[0]
    operator, _, rest = case.text.partition("    return ")
    return attrs.evolve(case, text=f"{operator}    t9 = 1 + True\n    return {rest}")


def test_a_program_that_is_refused_is_a_disagreement():
    found = check([wrong_case()])

    assert [each.stage for each in found] == ["definition"]


def test_a_wrong_result_is_a_disagreement():
    case = draw_batch(seed=0, batch=0, count=1, features=frozenset())[0]
    run = Run(case, schedule_of(case))

    def idle(*arguments, **options):
        pass

    from .running import _compare

    _define(run)
    _embedded(run)
    _compare(run, "cpu", idle)

    assert run.found is not None
    assert run.found.stage == "cpu"


def test_a_disagreement_is_told_in_a_form_that_runs_again(monkeypatch):
    monkeypatch.setattr(fuzz, "draw_batch", lambda seed, batch, count, features: [wrong_case()])
    monkeypatch.setattr(fuzz, "check_apart", lambda cases, *_, **__: check(cases))

    events = list(work(Options(1, seed=4, shrinking=0.0), fuzz.turns()))

    assert [event.get("seen") for event in events[:2]] == [None, events[1]["seen"]]
    assert events[1]["seen"].startswith("--seed 4 --only 0/0: definition")
    assert "def test_seed_4_batch_0_program_0():" in events[2]["source"]
    again = list(work(Options(1, seed=4, shrinking=0.0, only=(0, 0)), fuzz.turns()))
    assert again[0]["found"] == 1
    assert again[1]["sort"] == events[2]["sort"]


def test_a_case_without_fields_is_printed():
    """A case that was made small may have none left."""
    (found,) = check([attrs.evolve(wrong_case(), fields=(), order=())])

    assert "def make_arguments():" in as_test(found)


def test_one_slot_of_a_field_that_has_only_slots_is_no_condition():
    """A drawn ternary took such a field without dimensions for a scalar (seed 8300, 241/55)."""
    seen = 0
    for number in range(200):
        d = Draw(random.Random(number).randrange)
        scope = Scope(frozenset({"reduce"}), [], {})
        found = slot(d, scope, "bool", ("Cell",), 2)
        seen += found.text.startswith("broadcast(") and found.text.endswith(", (Cell,))")

        assert found.dims
    assert seen


def test_programs_that_did_not_run_are_no_success(monkeypatch, capsys):
    def refuse(*given):
        raise ZeroDivisionError("drawn badly")

    monkeypatch.setattr(fuzz, "draw_batch", refuse)

    assert fuzz.main(["70", "--jobs", "2"]) == 1
    printed = capsys.readouterr().out
    assert "drawn badly" in printed
    assert "70 programs did NOT run" in printed


def test_workers_share_all_batches_whatever_each_takes(monkeypatch):
    """Those that are compiled with '-O3', one in eight, were all given to two workers of 16."""
    monkeypatch.setattr(fuzz, "draw_batch", lambda seed, batch, count, features: [])
    monkeypatch.setattr(fuzz, "check_apart", lambda *_, **__: [])
    take = fuzz.turns()
    quick, slow = (work(Options(6 * fuzz.BATCH + 5, jobs=2), take) for _ in range(2))

    events = [next(slow), *quick, *slow]

    assert [each["count"] for each in events] == [fuzz.BATCH] * 6 + [5]


def test_a_disagreement_is_made_small():
    case = wrong_case()

    def fails(some):
        return [each.case for each in check(some) if "definition" in each.stage]

    small = shrink(case, fails, seconds=20)

    assert len(small.text) < len(case.text)
    assert fails([small])


def test_difference_tells_zeros_apart_but_no_nans():
    one, other = np.array([0.0, np.nan]), np.array([-0.0, -np.nan])

    assert difference(one, other, 0) == "differs at (0,): meant 0.0, got -0.0"
    assert difference(one[1:], other[1:], 0) == ""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_difference_allows_so_many_ulps(dtype):
    one = np.array([1.5], dtype)
    four = one + 4 * np.spacing(one)
    five = one + 5 * np.spacing(one)

    assert difference(one, four, 4) == ""
    assert difference(one, five, 4) != ""
    assert difference(one, four, 0) != ""


def test_difference_keeps_infinity_from_large_numbers():
    largest = np.array([np.finfo(np.float64).max])

    assert difference(largest, np.array([np.inf]), 4) != ""


@pytest.mark.parametrize("layout", ["c", "f", "gaps", "reversed"])
def test_writes_beside_a_field_are_noticed(layout):
    class Stub:
        def __init__(self, array):
            self.asnumpy = lambda: array

    values = np.arange(1.0, 7.0).reshape(2, 3)
    field = laid_out(values, layout)

    assert field.tolist() == values.tolist()
    assert is_intact(Stub(field))
    field.base[0, 0] = 1.0
    assert not is_intact(Stub(field))


def test_demand_follows_shifts_and_tables():
    asked = []
    table = next(table for table in TABLES if table.name == "E2V")
    vertex = Demand(("Vertex", "K"), asked.append)
    rows = gathered(shifted(vertex, (("K", 1),)), table, ("Edge", "E2VDim", "K"))
    edge = reduced(rows, table, ("Edge", "K"))

    edge({"Edge": (2, 4), "K": (0, 5)})

    touched = [*table.entries[2], *table.entries[3]]
    assert asked == [{"Vertex": (min(touched), max(touched) + 1), "K": (1, 6)}]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64", "bool"])
def test_numbers_in_printed_tests_read_back_as_they_were(dtype):
    from math import inf, nan

    values = specials(dtype)

    back = np.array([eval(spell(value), {"inf": inf, "nan": nan}) for value in values], dtype)

    assert difference(values, back, 0) == ""


@functools.cache
def many_drawn():
    return draw_batch(seed=1, batch=0, count=128, features=EVERY)


@pytest.mark.parametrize(
    "text",
    [
        "as_offset",
        "h + ",
        "h - ",
        "NamedTuple",
        "g0: ",
        "Field[[], ",
        "(V2E[3])",
        "domain={",
        "scan_operator",
    ],
)
def test_programs_have_every_part_of_the_language(text):
    assert any(text in case.text for case in many_drawn())


def test_some_cases_share_memory_call_operators_directly_and_compile_scalars_in():
    drawn = many_drawn()

    assert any(in_one_memory(case) for case in drawn)
    assert any(case.seed % 8 == 5 and only_call(case.text) for case in drawn)
    assert any(schedule_of(case).static and case.scalars for case in drawn)


def test_some_cases_have_bounds_and_options_at_their_limits():
    drawn = many_drawn()

    assert any(
        abs(start) > 2**30 for each in drawn for f in each.fields for start, _ in f.box.values()
    )
    assert {schedule_of(case).limits for case in drawn} == set(range(len(LIMITS)))


def test_a_table_misses_neighbours_in_every_slot():
    table = next(table for table in TABLES if table.name == "V2C")

    assert table.missing() == (0, 1, 2, 3)
    assert len(table.missing_rows(3)) == len(table.entries)
    assert 0 < len(table.missing_rows(0)) < len(table.entries)


@pytest.mark.parametrize("entrance", [recorded, set_up, split])
def test_cases_are_recorded_set_up_and_split(entrance):
    mine = [each for each in many_drawn() if entrance_of(each) is entrance]
    for case in mine:
        run = Run(case, schedule_of(case))
        with ff.using(ff.Engine(Memory())):
            _define(run)
            _embedded(run)
            if run.refuses_overlap or not list(entrance(case, run.program, run.names, run.tables)):
                continue
            _enter(run)
        assert run.found is None
        return
    pytest.fail(f"no case is {entrance.__name__}")


def test_a_wrong_result_of_an_entrance_is_a_disagreement(monkeypatch):
    case = next(each for each in many_drawn() if any(spec.written for spec in each.fields))
    run = Run(case, schedule_of(case))
    _define(run)
    _embedded(run)

    monkeypatch.setattr(
        running, "entrance_of", lambda case: lambda *_: iter([("idled", arguments_of(case))])
    )
    _enter(run)

    assert run.found is not None
    assert "(idled, " in run.found.what


def test_demand_follows_half_shifts():
    asked = []
    faces = Demand(("Ih", "K"), asked.append)

    halved(faces, "Ih", "I", 1, ("I", "K"))({"I": (0, 4), "K": (0, 2)})

    assert asked == [{"Ih": (1, 5), "K": (0, 2)}]


def test_a_collection_is_given_as_the_program_takes_it():
    case = next(each for each in many_drawn() if each.groups)
    run = Run(case, schedule_of(case))
    _define(run)

    given = run.given(arguments_of(case))

    assert list(given) == list(case.order)
    group = case.groups[0]
    assert type(given[group.name]).__name__ == group.kind
    assert len(given[group.name]) == len(group.members)
