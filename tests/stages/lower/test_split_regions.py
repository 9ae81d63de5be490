import pytest

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


def split(operations: list[str], box: str) -> list[str]:
    """Return the stores of the last of several operations, which are rows from %2 on."""
    rows = [f"%{row} = {each} : [I, K] float64\n" for row, each in enumerate(operations, 2)]
    text = f"{HEAD}{''.join(rows)}statement\n  out[{box}] = %{len(rows) + 1}\n"
    shown = Lowered(split_regions(parse(text)[0])).text
    stores = [line.strip() for line in shown.splitlines() if line.startswith("  out")]
    if len(stores) > 1:
        assert all(f" of [{box}] = " in each for each in stores)
    return [each.replace(f" of [{box}]", "") for each in stores]


STORES = {
    "a region that is written becomes a store of each branch": (
        ["region [K: .. n] %0 %1"],
        "I: 0 .. 9, K: 0 .. 5",
        ["out[I: 0 .. 9, K: 0 .. min(5, n)] = %0", "out[I: 0 .. 9, K: max(0, n) .. 5] = %1"],
    ),
    "parts that are surely empty are not written": (
        ["region [K: .. 1] [K: 4 ..] %0 %1"],
        "I: 0 .. 9, K: 1 .. 5",
        ["out[I: 0 .. 9, K: 4 .. 5] = %0", "out[I: 0 .. 9, K: 1 .. 4] = %1"],
    ),
    "the branches of branches are split too": (
        ["region [I: .. n] %0 %1", "region [K: 0 .. 1] %2 %1"],
        "I: 0 .. 9, K: 0 .. 5",
        [
            "out[I: 0 .. min(9, n), K: 0 .. 1] = %0",
            "out[I: max(0, n) .. 9, K: 0 .. 1] = %1",
            "out[I: 0 .. 9, K: 1 .. 5] = %1",
        ],
    ),
    "a region under an operation stays": (
        ["region [K: .. n] %0 %1", "neg %2"],
        "I: 0 .. 9, K: 0 .. 5",
        ["out[I: 0 .. 9, K: 0 .. 5] = %3"],
    ),
    "walls inside walls stay one store": (
        [
            "region [I: 0 .. 1] %1 %0",
            "region [I: n .. n + 1] %1 %2",
            "region [K: 0 .. 1] %1 %3",
            "region [K: n .. n + 1] %1 %4",
        ],
        "I: 0 .. n + 5, K: 0 .. n + 5",
        ["out[I: 0 .. n + 5, K: 0 .. n + 5] = %5"],
    ),
}


@pytest.mark.parametrize(("operations", "box", "stores"), STORES.values(), ids=STORES)
def test_stores_of_regions(operations, box, stores):
    assert split(operations, box) == stores


def test_a_store_is_not_split_into_too_many():
    nested = [
        f"region [I: {row} .. {row + 1}, K: {row} .. {row + 1}] %0 %{row - 1}"
        for row in range(3, 9)
    ]

    assert len(split(["region [I: 0 .. 1] %0 %1", *nested], "I: 0 .. n, K: 0 .. n")) <= 8
