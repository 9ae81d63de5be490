from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.ir.dataflow_text import parse
from fieldforge.stages.lower.split_regions import split_regions

HEAD = """\
program run(u, v, out, n)
dimension I horizontal
dimension K vertical
field u: [I, K] float64
field v: [I, K] float64
field out: [I, K] float64
scalar n: int32
%0 = input u : [I, K] float64
%1 = input v : [I, K] float64
"""


def split(rows: str, box: str) -> list[str]:
    last = rows.strip().rpartition("\n")[2].partition(" ")[0]
    text = f"{HEAD}{rows}statement\n  out[{box}] = {last}\n"
    shown = Lowered(split_regions(parse(text)[0])).text
    stores = [line.strip() for line in shown.splitlines() if line.startswith("  out")]
    if len(stores) > 1:
        assert all(f" of [{box}] = " in each for each in stores)
    return [each.replace(f" of [{box}]", "") for each in stores]


def test_a_region_that_is_written_becomes_a_store_of_each_branch():
    rows = "%2 = region [K: .. n] %0 %1 : [I, K] float64\n"

    assert split(rows, "I: 0 .. 9, K: 0 .. 5") == [
        "out[I: 0 .. 9, K: 0 .. min(5, n)] = %0",
        "out[I: 0 .. 9, K: max(0, n) .. 5] = %1",
    ]


def test_parts_that_are_surely_empty_are_not_written():
    rows = "%2 = region [K: .. 1] [K: 4 ..] %0 %1 : [I, K] float64\n"

    assert split(rows, "I: 0 .. 9, K: 1 .. 5") == [
        "out[I: 0 .. 9, K: 4 .. 5] = %0",
        "out[I: 0 .. 9, K: 1 .. 4] = %1",
    ]


def test_the_branches_of_branches_are_split_too():
    rows = """\
%2 = region [I: .. n] %0 %1 : [I, K] float64
%3 = region [K: 0 .. 1] %2 %1 : [I, K] float64
"""

    assert split(rows, "I: 0 .. 9, K: 0 .. 5") == [
        "out[I: 0 .. min(9, n), K: 0 .. 1] = %0",
        "out[I: max(0, n) .. 9, K: 0 .. 1] = %1",
        "out[I: 0 .. 9, K: 1 .. 5] = %1",
    ]


def test_a_region_under_an_operation_stays():
    rows = """\
%2 = region [K: .. n] %0 %1 : [I, K] float64
%3 = neg %2 : [I, K] float64
"""

    assert split(rows, "I: 0 .. 9, K: 0 .. 5") == ["out[I: 0 .. 9, K: 0 .. 5] = %3"]


def test_a_store_is_not_split_into_too_many():
    rows = "%2 = region [I: 0 .. 1] %0 %1 : [I, K] float64\n" + "".join(
        f"%{row} = region [I: {row} .. {row + 1}, K: {row} .. {row + 1}] %0 %{row - 1} "
        ": [I, K] float64\n"
        for row in range(3, 9)
    )

    assert len(split(rows, "I: 0 .. n, K: 0 .. n")) <= 8


def test_walls_inside_walls_stay_one_store():
    rows = """\
%2 = region [I: 0 .. 1] %1 %0 : [I, K] float64
%3 = region [I: n .. n + 1] %1 %2 : [I, K] float64
%4 = region [K: 0 .. 1] %1 %3 : [I, K] float64
%5 = region [K: n .. n + 1] %1 %4 : [I, K] float64
"""

    assert split(rows, "I: 0 .. n + 5, K: 0 .. n + 5") == [
        "out[I: 0 .. n + 5, K: 0 .. n + 5] = %5",
    ]
