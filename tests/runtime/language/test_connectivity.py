"""Sections 1.4 to 1.6: Cartesian shifts, staggered shifts, and offsets by name."""

import numpy as np
import pytest

from fieldforge.runtime.language.connectivity import (
    CartesianConnectivity,
    FieldOffset,
    GridType,
    NeighbourOffset,
)
from fieldforge.runtime.language.dimension import Dimension, DimensionKind, flip_staggered
from fieldforge.runtime.language.domain import NamedRange, UnitRange, domain

I, J = Dimension("I"), Dimension("J")
IH = flip_staggered(I)
E, V = Dimension("E"), Dimension("V")
V2E = Dimension("V2E", kind=DimensionKind.LOCAL)


def test_1_4_a_dimension_plus_an_integer_is_a_shift():
    shift = I + 1

    assert shift == CartesianConnectivity(I, 1) == CartesianConnectivity.for_translation(I, 1)
    assert (shift.domain_dim, shift.codomain, shift.offset) == (I, I, 1)
    assert CartesianConnectivity(I, -2) == I - 2
    assert I + np.int32(1) == shift
    assert type((I + np.int32(1)).offset) is int
    assert {shift: 1}[I + 1] == 1


def test_1_4_the_inverse_image_is_where_a_shifted_field_lives():
    assert (I + 1).inverse_image(UnitRange(2, 7)) == (NamedRange(I, UnitRange(1, 6)),)
    assert (I - 1).inverse_image(NamedRange(I, UnitRange(2, 7))) == (
        NamedRange(I, UnitRange(3, 8)),
    )
    assert (I + 1).domain == domain({I: None})
    with pytest.raises(ValueError, match="Expected a range along 'I"):
        (I + 1).inverse_image(NamedRange(J, UnitRange(2, 7)))


def test_1_4_a_relocation_changes_the_dimension_and_no_index():
    moved = CartesianConnectivity.for_relocation(I, J)

    assert (moved.domain_dim, moved.codomain, moved.offset) == (J, I, 0)
    assert moved.inverse_image(UnitRange(2, 7)) == (NamedRange(J, UnitRange(2, 7)),)


@pytest.mark.parametrize(
    ("shift", "result", "source", "cells"),
    [
        (IH + 0.5, IH, I, 0),  # a(Ih + 0.5) gives g(i) = a(i)
        (IH - 0.5, IH, I, -1),  # a(Ih - 0.5) gives a(i-1)
        (I + 0.5, I, IH, 1),  # b(I + 0.5) gives b(i+1)
        (I - 0.5, I, IH, 0),  # b(I - 0.5) gives b(i)
        (I + 1.5, I, IH, 2),
        (IH - 1.5, IH, I, -2),
    ],
)
def test_1_5_a_half_shift_goes_to_the_counterpart(shift, result, source, cells):
    assert shift == CartesianConnectivity(result, cells, codomain=source)


@pytest.mark.parametrize("offset", [0.3, 1.0, float("inf"), float("nan")])
def test_1_1_any_other_fraction_is_an_invalid_offset(offset):
    with pytest.raises(ValueError, match=r"Invalid offset '.*' for a Cartesian shift"):
        I + offset


def test_1_1_a_dimension_plus_anything_else_is_refused():
    with pytest.raises(TypeError):
        I + "1"
    with pytest.raises(TypeError):
        I + J
    with pytest.raises(TypeError):
        I + True


def test_1_6_a_cartesian_offset_by_name_is_a_shift():
    offset = FieldOffset("Ioff", source=I, target=(I,))

    assert offset.is_cartesian
    assert offset[2] == I + 2
    assert offset[-1] == I - 1


def test_1_6_a_neighbour_offset_keeps_what_it_was_given():
    offset = FieldOffset("V2E", source=E, target=(V, V2E))

    assert (offset.value, offset.source, offset.target) == ("V2E", E, (V, V2E))
    assert not offset.is_cartesian
    assert offset == FieldOffset("V2E", E, (V, V2E))
    assert str(offset) == "Offset[V2E]"
    assert offset[1] == NeighbourOffset(offset, 1)
    assert str(offset[1]) == "V2E[1]"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ((V, E), "must be a local dimension"),
        ((V,), "must stay on"),
        ((), "one or two targets"),
        ((V, V2E, E), "one or two targets"),
        (("V",), "must be dimensions"),
    ],
)
def test_1_6_targets_that_make_no_offset_are_refused(target, message):
    with pytest.raises(ValueError, match=message):
        FieldOffset("V2E", source=E, target=target)


def test_grid_type_is_its_own_text():
    assert GridType("cartesian") is GridType.CARTESIAN
    assert str(GridType.UNSTRUCTURED) == "unstructured"
