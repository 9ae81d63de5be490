"""Neighbour tables in the native call: where they are found, what is checked, what they answer."""

import ctypes
import gc
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fieldforge.runtime._core import Entry, FieldView, Program
from fieldforge.runtime.calls.plan import Access, Argument, Box, Plan, Word
from fieldforge.runtime.calls.plan_text import show_plan
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.fields.neighbour_table import Connectivity
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.domain import Domain
from fieldforge.runtime.process.errors import ArgumentError, DomainError, MissingOffsetError

C, E = Dimension("C"), Dimension("E")
C2E = Dimension("C2E", DimensionKind.LOCAL)
SEEN: list[tuple[list[int], int]] = []
INTS = 4


@ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
def remember(pointers: Any, ints: Any, *_: Any) -> int:
    SEEN.append(([ints[i] for i in range(INTS)], pointers[1] or 0))
    return 0


ADDRESS = ctypes.cast(remember, ctypes.c_void_p).value


def words(start: int, stop: int, op: str) -> tuple[Word, ...]:
    return (Word("const", start), Word("const", stop), Word(op, argument=0))  # type: ignore[arg-type]


def plan_for(start: int, stop: int, skip: bool = False, width: int = 2) -> Plan:
    """A table first and a field behind it: pointers have the field first."""
    table = Argument("C2E", (), "table", "int32", (C, C2E), read=True, width=width, skip=skip)
    field = Argument("out", (0,), "field", "float64", (C,), written=True)
    ends = (Word("const", start),), (Word("const", stop),)
    slots = (Word("const", 0),), (Word("const", width),)
    return Plan(
        "p",
        ("out",),
        (table, field),
        (
            words(start, stop, "lowest"),
            words(start, stop, "beyond"),
            (Word("stride", argument=0, axis=0),),
            (Word("stride", argument=0, axis=1),),
        ),
        (
            Access(
                (Box(1, (ends[0],), (ends[1],)),),
                (Box(0, (ends[0], slots[0]), (ends[1], slots[1])),),
            ),
        ),
    )


def program(*plans: Plan) -> Program:
    def on_miss(*_: Any) -> None:
        raise LookupError("no variant fits")

    made = Program("p", ("out",), on_miss, reject)
    for plan in plans:
        made.add(Entry(plan, ADDRESS))
    return made


def table(entries: Any, start: int = 0, skip: int | None = None) -> Connectivity:
    array = np.asarray(entries, np.int32)
    rows, width = array.shape
    return Connectivity(array, Domain((C, (start, start + rows)), (C2E, width)), E, skip)


def out(count: int = 5000, start: int = 0) -> FieldView:
    return FieldView(np.zeros(count), (C,), (start,))


def call(made: Program, provider: Any, *arguments: Any) -> tuple[list[int], int]:
    SEEN.clear()
    made(*(arguments or (out(),)), offset_provider=provider)
    ((ints, pointer),) = SEEN
    return ints, pointer


def test_a_table_is_found_by_name_and_its_pointer_follows_the_fields():
    neighbours = table([[3, 4], [5, 1], [7, 8]], start=10)

    ints, pointer = call(program(plan_for(10, 12)), {"C2E": neighbours, "K": C}, out(5, 10))

    assert ints == [1, 6, 2, 1]
    assert pointer == neighbours.pointer - 10 * 2 * 4


def test_parameters_by_keyword_and_the_provider_in_any_place():
    made, provider = program(plan_for(0, 1)), {"C2E": table([[3, 4]])}
    SEEN.clear()

    made(offset_provider=provider, out=out())
    made(out=out(), offset_provider=provider)

    assert len(SEEN) == 2


def test_a_provider_may_be_any_mapping():
    class Lazy(Mapping[str, Any]):
        def __getitem__(self, name: str) -> Any:
            return {"C2E": neighbours}[name]

        def __iter__(self) -> Any:
            return iter(["C2E"])

        def __len__(self) -> int:
            return 1

    neighbours = table([[3, 4]])
    assert call(program(plan_for(0, 1)), Lazy())[0][:2] == [3, 5]


@given(
    st.integers(0, 4000),
    st.integers(0, 4000),
    st.sampled_from([0, -7, 900]),
    st.booleans(),
    st.integers(0, 3),
)
def test_the_range_of_entries_is_that_of_the_rows(a, b, first, skip, seed):
    rows = 4000
    start, stop = sorted((a, b))
    entries = np.random.default_rng(seed).integers(-1 if skip else 0, 100_000, (rows, 2))
    entries = np.where(entries % 3 == 0, -1, entries) if skip else entries
    neighbours = table(entries, first, -1 if skip else None)
    part = entries[start:stop]
    valid = part[part >= 0]
    expected = [int(valid.min()), int(valid.max()) + 1] if valid.size else [0, 0]

    made = program(plan_for(start + first, stop + first, skip))

    for _ in range(2):  # the second answer is a remembered one
        ints, _pointer = call(made, {"C2E": neighbours}, out(rows, first))
        assert ints[:2] == expected


def test_many_ranges_of_rows_are_told_apart():
    entries = np.arange(400).reshape(200, 2)
    neighbours = table(entries)
    programs = [program(plan_for(i, i + 3)) for i in range(40)]
    for _ in range(2):
        for i, made in enumerate(programs):
            assert call(made, {"C2E": neighbours})[0][:2] == [2 * i, 2 * i + 6]


def test_rows_without_neighbours_have_none():
    neighbours = table([[-1, -1], [-1, 4]], skip=-1)
    assert call(program(plan_for(0, 1, skip=True)), {"C2E": neighbours})[0][:2] == [0, 0]


def test_a_table_of_any_strides_is_taken():
    array = np.asfortranarray(np.array([[1, 2], [3, 4], [5, 6]], np.int32))
    neighbours = Connectivity.on(array[::-1], Domain((C, 3), (C2E, 2)), E, None)
    ints, _ = call(program(plan_for(0, 2)), {"C2E": neighbours})
    assert ints == [3, 7, -1, 3]


# --- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize("provider", [None, {}, {"C2V": None}, 3])
def test_a_missing_table_is_named(provider):
    with pytest.raises(MissingOffsetError, match="Offset 'C2E' not found in offset provider"):
        program(plan_for(0, 1))(out(), offset_provider=provider)
    with pytest.raises(KeyError):
        program(plan_for(0, 1))(out())


def test_a_name_that_is_nearly_right_is_suggested():
    with pytest.raises(MissingOffsetError, match="Did you mean 'c2e'"):
        program(plan_for(0, 1))(out(), offset_provider={"c2e": table([[1, 2]])})


def test_another_table_is_no_misspelling():
    with pytest.raises(MissingOffsetError) as caught:
        program(plan_for(0, 1))(out(), offset_provider={"C2E2C": table([[1, 2]])})

    assert caught.value.hints == (
        "Pass 'offset_provider={\"C2E\": ...}', beside 'C2E2C', with a table made by "
        "'as_connectivity'; of a mesh pass 'mesh.connectivities(C2E)'.",
    )


@pytest.mark.parametrize(
    "given",
    [
        3,
        np.zeros((3, 2), np.int32),
        FieldView(np.zeros((3, 2), np.int32), (C, C2E), (0, 0)),  # could be written to
        FieldView(np.zeros(3), (C,), (0,)),
    ],
)
def test_something_else_than_a_table_is_refused(given):
    with pytest.raises(ArgumentError, match="to be a neighbour table over"):
        program(plan_for(0, 1))(out(), offset_provider={"C2E": given})


def test_a_table_over_other_dimensions_is_refused():
    wrong = Connectivity(np.zeros((3, 2), np.int32), Domain((E, 3), (C2E, 2)), C)
    with pytest.raises(ArgumentError, match=r"table over\s+\(C, C2E\), got one over \(E, C2E\)"):
        program(plan_for(0, 1))(out(), offset_provider={"C2E": wrong})


def test_rows_beyond_the_table_are_refused_by_its_name():
    with pytest.raises(DomainError, match="Table 'C2E' is too small") as error:
        program(plan_for(0, 7))(out(), offset_provider={"C2E": table([[1, 2]] * 5)})
    assert "along 'C' the program reads 0:7, but 'C2E' covers 0:5" in str(error.value)


def test_another_width_or_missing_neighbours_ask_for_another_variant():
    made = program(plan_for(0, 1))
    for other in (table([[1, 2, 3]]), table([[1, -1]], skip=-1)):
        with pytest.raises(LookupError, match="no variant fits"):
            made(out(), offset_provider={"C2E": other})
    made.add(Entry(plan_for(0, 1, width=3), ADDRESS))
    made(out(), offset_provider={"C2E": table([[1, 2, 3]])})


def test_a_table_without_missing_neighbours_takes_the_variant_without():
    loose, tight = Entry(plan_for(0, 1, skip=True), ADDRESS), Entry(plan_for(0, 1), ADDRESS)
    made = program()
    made.add(loose)
    made.add(tight)
    assert made.entries == (tight, loose)
    made(out(), offset_provider={"C2E": table([[1, -1]], skip=-1)})


def test_a_plan_that_writes_a_table_is_not_well_formed():
    plan = plan_for(0, 1)
    (access,) = plan.accesses
    with pytest.raises(ValueError, match="a table is written"):
        Entry(Plan("p", ("out",), plan.arguments, (), (Access(access.reads, ()),)), ADDRESS)


# --- lifetimes and threads -------------------------------------------------------------------


def test_a_table_goes_with_what_is_known_of_it():
    made = program(plan_for(0, 2))
    gc.freeze()  # what other tests have left need not be searched 50 times
    for i in range(50):
        assert call(made, {"C2E": table([[i, i], [i, 2 * i]])})[0][:2] == [i, 2 * i + 1]
        gc.collect()
    gc.unfreeze()


def test_two_threads_may_ask_one_table():
    neighbours = table(np.random.default_rng(3).integers(0, 10**6, (50_000, 2)))
    programs = [program(plan_for(i, 40_000 + i)) for i in range(8)]
    view = out(50_000)

    def work() -> None:
        for made in programs:
            made(view, offset_provider={"C2E": neighbours})

    SEEN.clear()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(ints) for ints, _ in SEEN}) <= 8
    assert len(SEEN) == 32


def test_the_plan_shows_its_table():
    text = show_plan(plan_for(0, 3, skip=True))
    assert "argument 0   C2E = table over (C, C2E), 2 neighbours, some missing" in text
    assert "int 1        beyond(C2E, 0, 3)" in text
