"""Sizes of calls: what a build knows, else usual ones."""

from tests.generated.large import large_case

import fieldforge as ff
from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.plan.sizes import USUAL_LEVELS, USUAL_POINTS, Table, alike, usual
from fieldforge.stages.ir import dataflow
from fieldforge.stages.ir.bounds import DomainSymbol, Range, ScalarSymbol, add, subtract
from fieldforge.stages.ir.loops.buffers import Buffer
from fieldforge.stages.ir.loops.kernel import Kernel
from fieldforge.stages.ir.loops.traverse import nests_of

from ....dimensions import I, J, K
from .listings import loops_of

MESH = 4  # a seed


def kernel(*fields, scalars=()):
    return Kernel("", scalars, fields, (), ())


def field(name, *dims):
    return Buffer(name, "field", "float64", dims, dims[0])


def test_usual_sizes_differ_in_points():
    found = usual(kernel(field("u", I, J, K), field("flat", I, J)), {})

    assert len(found) == len(USUAL_POINTS)
    for sizes, points in zip(found, USUAL_POINTS, strict=True):
        extents = [sizes.ranges["u", dim.value][1] for dim in (I, J, K)]
        assert extents[2] == USUAL_LEVELS
        assert 0.9 < extents[0] * extents[1] * extents[2] / points < 1.1
        assert sizes.ranges["flat", "I"] == sizes.ranges["u", "I"]


def test_fields_without_levels_have_all_points_across():
    sizes = usual(kernel(field("u", I)), {})

    assert [each.ranges["u", "I"][1] for each in sizes] == list(USUAL_POINTS)


def test_what_a_build_knows_is_the_only_size():
    known = {("u", "I"): (-2, 66), ("u", "K"): (0, 20)}

    (sizes,) = usual(kernel(field("u", I, K)), known)

    assert sizes.value(DomainSymbol("stop", "u", I)) == 66
    assert sizes.ranges == known


def test_tables_have_as_many_rows_as_the_fields_that_a_build_knows():
    loops, given, _ = loops_of(large_case(MESH), 10_000)

    (sizes,) = usual(loops, given.ranges)

    extents = [stop - start for start, stop in given.ranges.values()]
    assert {each.rows for each in sizes.tables.values()} == {max(extents)}
    assert (
        sum(sizes.extent(loop.range) == 0 for nest in nests_of(loops) for loop in nest.loops) == 0
    )


def test_entries_of_rows_tell_how_many_elements_a_location_has():
    cell, edge, vertex = (ff.Dimension(name) for name in ("Cell", "Edge", "Vertex"))
    near = ff.Dimension("near", kind=ff.DimensionKind.LOCAL)
    drawn = [
        dataflow.Table(f"{target.value} {source.value}", source, target, near, width, False)
        for target, source, width in ((edge, cell, 2), (cell, vertex, 3), (vertex, vertex, 6))
    ]

    found = usual(kernel(field("u", cell), field("flux", edge)), {}, drawn)[0]
    (known,) = usual(kernel(field("flux", edge)), {("flux", "Edge"): (0, 90)}, drawn)

    assert found.ranges == {("u", "Cell"): (0, 10_000), ("flux", "Edge"): (0, 15_000)}
    assert found.tables["Edge Cell"] == Table(15_000, 10_000, 2)
    assert found.tables["Cell Vertex"] == Table(10_000, 5_000, 3)
    assert known.tables["Cell Vertex"] == Table(60, 30, 3)


def test_bounds_that_a_call_passes_are_those_of_its_fields():
    scalars = (("domain.out.I.start", "int64"), ("domain.out.I.stop", "int64"), ("n", "int32"))

    sizes = alike(kernel(field("out", I), scalars=scalars), {"I": 50})

    assert sizes.value(ScalarSymbol("domain.out.I.start")) == 0
    assert sizes.value(ScalarSymbol("domain.out.I.stop")) == 50


def test_scalars_at_which_stores_begin_or_end_are_ends_of_the_dimension():
    loops, _, _ = loops_of(large_case(MESH), 10_000)
    range_ = loops.groups[0].box[0]
    given = Range(range_.dim, add(ScalarSymbol("first"), 1), subtract(ScalarSymbol("last"), 1))
    group = classes.evolve(loops.groups[0], box=(given, *loops.groups[0].box[1:]))

    sizes = alike(classes.evolve(loops, groups=(group,)), {range_.dim.value: 500})

    assert (sizes.value(given.start), sizes.value(given.stop)) == (1, 499)


def test_tables_are_near_unless_they_are_given():
    loops, _, tables = loops_of(large_case(MESH), 10_000)
    extents = {dim.value: 100 for buffer in loops.buffers for dim in buffer.dims}

    near = alike(loops, extents).tables
    given = alike(loops, extents, {"E2V": Table(7, 9)}).tables

    assert {"E2V", "E2C"} <= near.keys() <= tables.keys()
    assert {*near.values()} == {Table(100, 100)}
    assert given == near | {"E2V": Table(7, 9)}


def test_sizes_are_equal_whatever_was_asked_of_them():
    one, other = (alike(kernel(field("u", I)), {"I": 8}) for _ in range(2))

    one.value(DomainSymbol("stop", "u", I))

    assert one == other
