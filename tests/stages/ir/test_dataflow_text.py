import functools

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.types import SCALARS
from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.ir import bounds, dataflow
from fieldforge.stages.ir.bounds import Const, DomainSymbol, Range, ScalarSymbol
from fieldforge.stages.ir.dataflow_text import parse

I, K = Dimension("I"), Dimension("K", DimensionKind.VERTICAL)

LISTING = """\
program shifted(u, pair)
dimension I horizontal
dimension K vertical
field u: [I, K] float64
field pair.0: [I, K] float64
field pair.2: [I, K] float64 on I: -1 .. 8, K: 0 .. 4
scalar pair.1: int32
%0 = input u : [I, K] float64      on I: 1 .. pair.1 + 1, K: start(u, K) .. stop(u, K)
%1 = shift %0 I+1 : [I, K] float64  on I: 0 .. pair.1, K: start(u, K) .. stop(u, K)
%2 = literal -0.5 : float64        on ()
%3 = mul %1 %2 : [I, K] float64    on I: 0 .. pair.1, K: start(u, K) .. stop(u, K)
statement
  pair.0[I: 0 .. pair.1, K: start(u, K) .. stop(u, K)] = %3
read 0 u[I: 1 .. pair.1 + 1, K: start(u, K) .. stop(u, K)]
"""

MAKERS = [
    *(bounds.add, bounds.multiply, bounds.minimum, bounds.maximum),
    *(bounds.floor_divide, bounds.modulo),
    lambda start, stop: bounds.TableBound("lowest", "E2C", start, stop),
    lambda start, stop: bounds.TableBound("beyond", "my table", start, stop),
]
names = st.one_of(
    st.sampled_from(["u", "out", "start", "min", "on", "pointwise", "at", "statement", "größe"]),
    st.text(max_size=6),
)
dimensions = st.builds(
    Dimension,
    st.sampled_from(["I", "K", "my dim", "a[b]", "_StaggeredI"]) | st.text(max_size=3),
    st.sampled_from(list(DimensionKind)),
)
ends = st.recursive(
    st.builds(Const, st.integers(-(2**63), 2**63))
    | st.builds(ScalarSymbol, names)
    | st.builds(DomainSymbol, st.sampled_from(["start", "stop"]), names, dimensions),
    lambda inner: st.builds(
        lambda make, left, right: make(left, right), st.sampled_from(MAKERS), inner, inner
    ),
    max_leaves=5,
)
boxes = st.lists(st.builds(Range, dimensions, ends, ends), max_size=3).map(tuple)
sides = st.builds(dataflow.Side, dimensions, st.none() | ends, st.none() | ends)
tables = st.builds(
    dataflow.Table,
    *(names, dimensions, dimensions, dimensions),
    st.integers(0, 9),
    st.booleans(),
)


def accesses(row, common):
    """Return strategies for the values that look at others elsewhere than where they stand."""
    refs, count = st.integers(0, row - 1), st.integers(0, 3)
    rows = st.lists(refs, max_size=3).map(tuple)
    body = st.builds(
        dataflow.Body,
        st.lists(st.builds(dataflow.Scalar, name=names, **common), min_size=1).map(tuple),
        st.lists(st.just(0), max_size=3).map(tuple),
    )
    return [
        st.builds(dataflow.Displace, arg=refs, dim=dimensions, by=refs, **common),
        st.builds(dataflow.Gather, arg=refs, table=names, index=count, **common),
        st.builds(dataflow.Neighbours, arg=refs, table=names, **common),
        st.builds(
            dataflow.Collect,
            arg=refs,
            table=names,
            slots=names,
            index=st.none() | count,
            **common,
        ),
        st.builds(
            dataflow.Reduce,
            op=st.sampled_from(dataflow.REDUCTIONS),
            arg=refs,
            table=names,
            **common,
        ),
        st.builds(dataflow.Local, arg=refs, dim=dimensions, index=count, **common),
        st.builds(dataflow.Level, arg=refs, dim=dimensions, at=ends, **common),
        st.builds(
            dataflow.Region,
            boxes=st.lists(st.lists(sides, max_size=2).map(tuple), max_size=2).map(tuple),
            then=refs,
            otherwise=refs,
            **common,
        ),
        st.builds(
            dataflow.Scan,
            body=body,
            init=rows,
            args=rows,
            axis=dimensions,
            forward=st.booleans(),
            start=ends,
            stop=ends,
            **common,
        ),
        st.builds(dataflow.Result, scan=refs, index=count, **common),
    ]


dims = st.lists(dimensions, max_size=3).map(tuple)
common = {"dims": dims, "dtype": st.sampled_from(SCALARS)}
numbers = st.builds(Const, st.integers(-(2**63), 2**63))
leaves = st.builds(
    dataflow.Leaf,
    names,
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
    st.sampled_from(["field", "scalar"]),
    common["dtype"],
    dims,
    st.lists(st.builds(Range, dimensions, numbers, numbers), max_size=2).map(tuple),
)


# Hypothesis checks every new strategy, which takes longer than to draw from a known one.
@functools.cache
def kinds(row):
    """Return the strategy for the value of a row."""
    found = [
        st.builds(dataflow.Input, name=names, version=st.integers(0, 3), **common),
        st.builds(dataflow.Scalar, name=names, **common),
        st.builds(
            dataflow.Literal, text=st.sampled_from(["1", "-0.5", "nan", "1e+20", "?"]), **common
        ),
    ]
    if row:
        refs = st.integers(0, row - 1)
        args = st.lists(refs, min_size=1, max_size=3).map(tuple)
        ops = st.sampled_from(dataflow.OPERATIONS)
        offset = st.integers(-3, 3)
        found += [
            st.builds(dataflow.Map, op=ops, args=args, **common),
            st.builds(dataflow.Shift, arg=refs, dim=dimensions, offset=offset, **common),
            *accesses(row, common),
        ]
    return st.one_of(found)


@functools.cache
def written_by(rows):
    """Return the strategy for the statements after so many values."""
    stores = st.builds(dataflow.Store, names, boxes, st.integers(0, rows - 1))
    statements = st.builds(dataflow.Statement, st.lists(stores, min_size=1, max_size=2).map(tuple))
    return st.lists(statements, min_size=1, max_size=2).map(tuple)


@functools.cache
def read_by(statements):
    """Return the strategy for what so many statements read."""
    read = st.builds(dataflow.Read, st.integers(0, statements - 1), names, boxes, st.booleans())
    return st.lists(read, max_size=2).map(tuple)


@functools.cache
def boxes_of(rows):
    """Return the strategy for the boxes of so many values."""
    return st.just(()) | st.lists(boxes, min_size=rows, max_size=rows).map(tuple)


parameters = st.lists(names, max_size=3).map(tuple)
some_leaves = st.lists(leaves, max_size=3).map(tuple)
some_tables = st.lists(tables, max_size=2).map(tuple)
counts = st.integers(1, 6)


@st.composite
def programs(draw):
    values = [draw(kinds(row)) for row in range(draw(counts))]
    written = draw(written_by(len(values)))
    program = dataflow.Dataflow(
        draw(names),
        draw(parameters),
        draw(some_leaves),
        tuple(values),
        written,
        draw(some_tables),
    )
    return Lowered(program, draw(boxes_of(len(values))), draw(read_by(len(written))))


@pytest.mark.parametrize("examples", [50, pytest.param(150, marks=pytest.mark.in_full)])
def test_whatever_is_shown_parses_back_to_the_same(examples):
    settings(max_examples=examples, deadline=None)(given(programs())(parses_back))()


def parses_back(lowered):
    again = Lowered(*parse(lowered.text))

    assert again == lowered
    assert again.text == lowered.text


def test_the_listing_is_read_as_it_is_written():
    program, boxes, reads = parse(LISTING)

    assert program.values[1].dim is I
    assert program.leaves[1].path == (1, 0)
    assert program.values[0].dims[1].kind is DimensionKind.VERTICAL
    assert boxes[0][0] == Range(I, Const(1), bounds.add(ScalarSymbol("pair.1"), 1))
    assert not reads[0].pointwise
    assert Lowered.from_files({"dataflow.txt": LISTING.encode()}).program == program


GATHERED = """\
program gathered(u, n, out)
dimension Cell horizontal
dimension Edge horizontal
dimension E2C local
dimension K vertical
field u: [Cell, K] float64
scalar n: int32
field out: [Edge, K] float64
table E2C: [Edge, E2C] -> Cell width 2 skip
bound $0 = lowest(E2C, 0, n)
bound $1 = beyond(E2C, 0, n)
%0 = input u : [Cell, K] float64  on Cell: $0 .. $1, K: 0 .. n + 1
%1 = neighbours %0 E2C : [Edge, E2C, K] float64  on Edge: 0 .. n, E2C: 0 .. 2, K: 0 .. n
%2 = sum %1 over E2C : [Edge, K] float64  on Edge: 0 .. n, K: 0 .. n
%3 = local %1 E2C[1] : [Edge, K] float64  on Edge: 0 .. n, K: 0 .. n
%4 = gather %0 E2C[0] : [Edge, K] float64  on Edge: 0 .. n, K: 0 .. n
%5 = literal 1 : int32            on ()
%6 = displace %4 K %5 : [Edge, K] float64  on Edge: 0 .. n, K: 0 .. n
%7 = region [Edge: 1 .. n, K: .. 3] [K: 3 ..] %3 %6 : [Edge, K] float64  on Edge: 0 .. n, K: 0 .. n
%8 = literal 0.0 : float64        on ()
%9 = scan K backward 0 .. n init %8 args %2 %7 : [Edge, K] float64  on Edge: 0 .. n, K: 0 .. n
  %0 = scalar s0 : float64
  %1 = scalar a0 : float64
  %2 = scalar a1 : float64
  %3 = mul %1 %2 : float64
  %4 = add %0 %3 : float64
  next %4
%10 = result %9 0 : [Edge, K] float64  on Edge: 0 .. n, K: 0 .. n
statement
  out[Edge: 0 .. n, K: 0 .. n] = %10
read 0 u[Cell: $0 .. $1, K: 0 .. n + 1]
"""


@pytest.mark.parametrize(
    "damage",
    [
        ("next %4", "next %9"),
        ("  next %4\n", ""),
        ("bound $1", "bound $2"),
        ("%9 = scan K backward", "%9 = scan K sideways"),
        ("E2C[0]", "E2C[0"),
        ("lowest(E2C, 0, n)", "lowest(E2C, 0)"),
        ("Cell: $0", "Cell: $7"),
    ],
)
def test_a_damaged_listing_of_the_new_rows_is_refused(damage):
    with pytest.raises(ValueError, match=r"Line \d+|body of a scan|listing"):
        parse(GATHERED.replace(*damage))


def test_columns_stand_under_each_other():
    shown = Lowered(*parse(LISTING)).text

    assert len({line.index("  on ") for line in shown.splitlines() if line.startswith("%")}) == 1


def test_dimensions_of_one_name_are_told_apart_by_their_kinds():
    program, _, _ = parse(LISTING)
    level = Dimension("I", DimensionKind.VERTICAL)
    leaf = attrs.evolve(program.leaves[0], dims=(I, level))
    lowered = Lowered(attrs.evolve(program, leaves=(leaf, *program.leaves[1:])))

    shown = lowered.text

    assert "field u: [I[horizontal], I[vertical]] float64" in shown
    assert Lowered(*parse(shown)) == lowered


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_text_is_a_value_error_and_nothing_else(data):
    start = data.draw(st.integers(0, len(LISTING)))
    stop = data.draw(st.integers(start, len(LISTING)))
    text = LISTING[:start] + data.draw(st.text(max_size=4)) + LISTING[stop:]

    try:
        lowered = Lowered(*parse(text))
    except ValueError:
        return
    assert Lowered(*parse(lowered.text)) == lowered


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("program", "programme"),
        ("dimension K vertical", "dimension K upward"),
        ("field u: [I, K]", "field u: [I, L]"),
        ("mul %1 %2", "mul %1 %3"),
        ("mul %1 %2", "mull %1 %2"),
        ("] = %3", "] = %4"),
        ("stop(u, K)] = ", "end(u, K)] = "),
        ("on ()", ""),
        ("read 0", "read 1"),
        (": [I, K] float64  on I: 0", ": [I, K] float128  on I: 0"),
    ],
)
def test_damage_that_leaves_words_in_place_is_refused(old, new):
    assert old in LISTING

    with pytest.raises(ValueError, match=r"."):
        parse(LISTING.replace(old, new))


def test_brackets_without_end_are_refused_without_recursion():
    text = LISTING.replace("I: 0 .. pair.1", "I: 0 .. " + "min(" * 100_000)

    with pytest.raises(ValueError, match="Line"):
        parse(text)
