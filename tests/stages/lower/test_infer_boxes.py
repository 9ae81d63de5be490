import pytest

from fieldforge.runtime.process.errors import DSLError
from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.ir.dataflow import Input
from fieldforge.stages.ir.dataflow_text import parse
from fieldforge.stages.lower.boxes.infer_boxes import Walk, infer_boxes

HEAD = """\
program run(u, v, a, out, w, n, m)
dimension I horizontal
dimension K vertical
field u: [I, K] float64
field v: [I, K] float64
field a: [K] float64
field out: [I, K] float64
field w: [I, K] float64
scalar n: int32
scalar m: int32
"""


def listing(rows: list[str], kind: str) -> str:
    """Number rows; those that do not say so have one type."""
    return "".join(
        f"%{row} = {each if ' : ' in each else f'{each} : {kind}'}\n"
        for row, each in enumerate(rows)
    )


def inferred(rows: list[str], *statements: str):
    """Return the boxes by row and the reads, as text."""
    stores = "".join("statement\n  " + each.replace("; ", "\n  ") + "\n" for each in statements)
    lowered = infer_boxes(parse(HEAD + listing(rows, "[I, K] float64") + stores)[0])
    boxes = [", ".join(map(str, box)) for box in lowered.boxes]
    reads = [
        f"{each.statement} {each.name}[{', '.join(map(str, each.box))}]"
        + " pointwise" * each.pointwise
        for each in lowered.reads
    ]
    return boxes, reads


CASES = {
    "shifts both ways widen the box on both sides": (
        ["input u", "shift %0 I+1", "shift %0 I-2", "add %1 %2"],
        ["out[I: 0 .. n, K: start(out, K) .. stop(out, K)] = %3"],
        {
            0: "I: -2 .. n + 1, K: start(out, K) .. stop(out, K)",
            1: "I: 0 .. n, K: start(out, K) .. stop(out, K)",
            2: "I: 0 .. n, K: start(out, K) .. stop(out, K)",
            3: "I: 0 .. n, K: start(out, K) .. stop(out, K)",
        },
        ["0 u[I: -2 .. n + 1, K: start(out, K) .. stop(out, K)]"],
    ),
    "a shift to one side reads nothing on the other": (
        ["input u", "shift %0 K+3"],
        ["out[I: 0 .. 4, K: 0 .. 5] = %1"],
        {},
        ["0 u[I: 0 .. 4, K: 3 .. 8]"],
    ),
    "chained stencils on kept shifts add up": (
        ["input u", "shift %0 I+1", "sub %1 %0", "shift %2 I-1", "sub %2 %3"],
        ["out[I: 0 .. n, K: 0 .. m] = %4"],
        {2: "I: -1 .. n, K: 0 .. m", 0: "I: -1 .. n + 1, K: 0 .. m"},
        ["0 u[I: -1 .. n + 1, K: 0 .. m]"],
    ),
    "several consumers take the hull": (
        ["input u", "neg %0", "shift %1 I+1"],
        ["out[I: 0 .. n, K: 0 .. 5] = %1; w[I: 2 .. m, K: 1 .. 3] = %2"],
        {1: "I: 0 .. max(m + 1, n), K: 0 .. 5"},
        ["0 u[I: 0 .. max(m + 1, n), K: 0 .. 5]"],
    ),
    "every statement reads for itself": (
        ["input u", "shift %0 I+1", "input out @1"],
        [
            "out[I: 0 .. n, K: 0 .. 5] = %0",
            "w[I: 0 .. 3, K: 0 .. 5] = %1",
            "v[I: 1 .. 2, K: 0 .. 1] = %2",
        ],
        {0: "I: 0 .. max(4, n), K: 0 .. 5"},
        [
            "0 u[I: 0 .. n, K: 0 .. 5] pointwise",
            "1 u[I: 1 .. 4, K: 0 .. 5]",
            "2 out[I: 1 .. 2, K: 0 .. 1] pointwise",
        ],
    ),
    "a slice is relative to the output": (
        ["input u", "shift %0 I-1"],
        ["out[I: start(out, I) + 1 .. stop(out, I) + -1, K: start(out, K) .. stop(out, K)] = %1"],
        {},
        ["0 u[I: start(out, I) .. stop(out, I) + -2, K: start(out, K) .. stop(out, K)]"],
    ),
    "bounds with extremes are translated inside": (
        ["input u", "shift %0 I+1", "add %0 %1"],
        ["out[I: max(3, n) .. min(m, 99), K: 0 .. 1] = %2"],
        {},
        ["0 u[I: max(3, n) .. min(m + 1, 100), K: 0 .. 1]"],
    ),
    "a field of levels is needed on levels only": (
        [
            "input a : [K] float64",
            "shift %0 K-1 : [K] float64",
            "input u",
            "mul %1 %2",
            "shift %3 I+1",
        ],
        ["out[I: 0 .. n, K: 1 .. m] = %4"],
        {0: "K: 0 .. m + -1"},
        ["0 a[K: 0 .. m + -1]", "0 u[I: 1 .. n + 1, K: 1 .. m]"],
    ),
    "what no store needs has an empty box and a point has none": (
        ["input u", "literal 1.0 : float64", "add %0 %1"],
        ["out[I: 0 .. n, K: 1 .. m] = %1"],
        {0: "I: 0 .. 0, K: 0 .. 0", 1: "", 2: "I: 0 .. 0, K: 0 .. 0"},
        [],
    ),
}


@pytest.mark.parametrize(("rows", "statements", "boxes", "reads"), CASES.values(), ids=CASES)
def test_boxes_of_rows_and_what_statements_read(rows, statements, boxes, reads):
    found, read = inferred(rows, *statements)

    assert {row: found[row] for row in boxes} == boxes
    assert read == reads


@pytest.mark.parametrize("offset", ["+1", "-1"])
def test_one_shifted_use_among_several_makes_a_read_no_longer_pointwise(offset):
    rows = ["input u", f"shift %0 I{offset}", "add %0 %1"]

    _, reads = inferred(rows, "out[I: 0 .. n, K: 0 .. 5] = %2")

    assert not reads[0].endswith("pointwise")


MESH = """\
program run(u, w, by, out, n)
dimension Cell horizontal
dimension Edge horizontal
dimension E2C local
dimension K vertical
field u: [Cell, K] float64
field w: [Edge, E2C] float64
field by: [Edge, K] int32
field out: [Edge, K] float64
scalar n: int32
table E2C: [Edge, E2C] -> Cell width 3
"""


def on_mesh(body: str, box: str = "Edge: 0 .. n, K: 0 .. 5"):
    """Return the boxes by row and the reads of a program that writes its last row."""
    last = [line for line in body.splitlines() if line.startswith("%")][-1].partition(" ")[0]
    lowered = infer_boxes(parse(f"{MESH}{body}statement\n  out[{box}] = {last}\n")[0])
    reads = [f"{each.name}[{', '.join(map(str, each.box))}]" for each in lowered.reads]
    return [", ".join(map(str, box)) for box in lowered.boxes], reads


NEIGHBOURS = {
    "neighbours ask for the range that their rows name": (
        ["input u : [Cell, K] float64", "gather %0 E2C[0]", "shift %1 Edge+2"],
        ["u[Cell: lowest(E2C[0], 2, n + 2) .. beyond(E2C[0], 2, n + 2), K: 0 .. 5]"],
    ),
    "a gather at two places asks for the rows around both": (
        ["input u : [Cell, K] float64", "gather %0 E2C[0]", "shift %1 Edge+2", "add %1 %2"],
        ["u[Cell: lowest(E2C[0], 0, n + 2) .. beyond(E2C[0], 0, n + 2), K: 0 .. 5]"],
    ),
    "a displaced input is asked for all that it has": (
        [
            "input u : [Cell, K] float64",
            "shift %0 K+1 : [Cell, K] float64",
            "gather %1 E2C[0]",
            "input by : [Edge, K] int32",
            "displace %2 K %3",
        ],
        [
            "by[Edge: 0 .. n, K: 0 .. 5]",
            "u[Cell: lowest(E2C[0], 0, n) .. beyond(E2C[0], 0, n), "
            "K: start(u, K) .. max(start(u, K) + 1, stop(u, K))]",
        ],
    ),
    "a level is asked for one index": (
        [
            "input u : [Cell, K] float64",
            "gather %0 E2C[0]",
            "level %1 K at n : [Edge] float64",
            "cast %2 : [Edge] float64",
        ],
        ["u[Cell: lowest(E2C[0], 0, n) .. beyond(E2C[0], 0, n), K: n .. n + 1]"],
    ),
}


@pytest.mark.parametrize(("rows", "reads"), NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_reads_of_neighbours(rows, reads):
    assert on_mesh(listing(rows, "[Edge, K] float64"))[1] == reads


SCAN = """\
%0 = input by : [Edge, K] int32
%1 = literal 0 : int32
%2 = scan K forward 2 .. n init %1 args %0 : [Edge, K] int32
  %0 = scalar s0 : int32
  %1 = scalar a0 : int32
  %2 = add %0 %1 : int32
  next %2
%3 = result %2 0 : [Edge, K] int32
%4 = cast %3 : [Edge, K] float64
"""


def test_a_scan_asks_for_its_arguments_on_all_levels_that_it_walks():
    rows = SCAN + "%5 = shift %4 Edge+1 : [Edge, K] float64\n"

    boxes, reads = on_mesh(rows, "Edge: 0 .. 3, K: 2 .. n")

    assert boxes[3] == "Edge: 1 .. 4, K: 2 .. n"
    assert reads == ["by[Edge: 1 .. 4, K: 2 .. n]"]


@pytest.mark.parametrize(("offset", "side"), [("-1", "below the first"), ("+1", "beyond the last")])
def test_a_scan_that_is_read_where_it_does_not_walk_is_refused(offset, side):
    rows = SCAN + f"%5 = shift %4 K{offset} : [Edge, K] float64\n"

    with pytest.raises(DSLError, match=f"read {side} level"):
        on_mesh(rows, "Edge: 0 .. 3, K: 2 .. n")


def test_a_long_chain_of_neighbours_has_bounds_that_share_their_parts():
    rows = ["%0 = input u : [Cell, K] float64"]
    for _ in range(60):  # as trees the bounds would have 2**60 leaves
        row = len(rows)
        rows.append(f"%{row} = gather %{row - 1} C2C[0] : [Cell, K] float64")
        rows.append(f"%{row + 1} = add %{row - 1} %{row} : [Cell, K] float64")
    text = MESH.replace("[Edge, K] float64", "[Cell, K] float64")
    text += "table C2C: [Cell, E2C] -> Cell width 3\n" + "\n".join(rows)

    lowered = infer_boxes(
        parse(f"{text}\nstatement\n  out[Cell: 0 .. n, K: 0 .. 5] = %{len(rows) - 1}\n")[0]
    )

    assert len(lowered.text) < 100_000
    assert Lowered(*parse(lowered.text)) == lowered


def hard(body: str):
    """Return what must exist of each row that is needed, as text."""
    program = parse(HEAD + body)[0]
    walk = Walk.of(program)
    found = {}
    for ref, need in walk.needs(program.statements[0]).items():
        part = walk.areas.hard(need)
        if part and isinstance(program.values[ref], Input):
            box = walk.areas.of(program.values[ref].dims, part)
            found[program.values[ref].name] = ", ".join(map(str, box))
    return found


SOFT = """\
%0 = input u : [I, K] float64
%1 = input v : [I, K] float64
%2 = shift %1 K+1 : [I, K] float64
%3 = literal 0.0 : [] float64
%4 = lt %0 %3 : [I, K] bool
%5 = select %4 %2 %3 : [I, K] float64
"""
STORED = """\
statement
  out[I: 0 .. 4, K: 0 .. 8] = %{row}
"""


def test_a_branch_of_where_need_not_exist():
    assert hard(SOFT + STORED.format(row=5)) == {"u": "I: 0 .. 4, K: 0 .. 8"}


def test_what_is_needed_hard_anywhere_is_hard_there():
    text = SOFT + "%6 = add %5 %1 : [I, K] float64\n" + STORED.format(row=6)

    assert hard(text)["v"] == "I: 0 .. 4, K: 0 .. 8"
