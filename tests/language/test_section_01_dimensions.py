"""Section 1: dimensions, ranges, domains, shifts, staggered dimensions, offsets."""

# ruff: noqa: SIM300 - numbers on the left are what is tested

import pickle

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.common import Infinity, NamedIndex, NamedRange, named_range, promote_dims
from fieldforge.errors import FieldforgeError

from .support import MESH, Edge, I, J, K, Line, Plane, Vertex, field, local, random, run

Ih = ff.flip_staggered(I)
V2ELocal = local("V2E")


class TestDimension:
    """1.1."""

    def test_1_1_a_dimension_is_compared_by_name_and_kind(self):
        assert ff.Dimension("I") == I
        assert hash(ff.Dimension("I")) == hash(I)
        assert ff.Dimension("I", kind=ff.DimensionKind.VERTICAL) != I
        assert pickle.loads(pickle.dumps(K)) == K

    def test_1_1_a_dimension_is_immutable(self):
        with pytest.raises(AttributeError):
            I.value = "X"

    def test_1_1_text_is_name_and_kind(self):
        assert [str(dim) for dim in (I, K, V2ELocal)] == [
            "I[horizontal]", "K[vertical]", "V2E[local]",
        ]  # fmt: skip

    def test_1_1_kinds_are_strings(self):
        assert [str(kind) for kind in ff.DimensionKind] == ["horizontal", "local", "vertical"]
        assert ff.DimensionKind("local") is ff.DimensionKind.LOCAL

    def test_1_1_a_call_names_an_index(self):
        index = I(3)

        assert index == NamedIndex(I, 3)
        assert (index.dim, index.value) == (I, 3)

    @pytest.mark.parametrize(
        ("made", "expected"),
        [
            (lambda: I < 3, (Infinity.NEGATIVE, 3)),
            (lambda: I <= 3, (Infinity.NEGATIVE, 4)),
            (lambda: I > 3, (4, Infinity.POSITIVE)),
            (lambda: I >= 3, (3, Infinity.POSITIVE)),
            (lambda: I == 3, (3, 4)),
            (lambda: 3 > I, (Infinity.NEGATIVE, 3)),
            (lambda: 3 < I, (4, Infinity.POSITIVE)),
            (lambda: np.int32(3) <= I, (3, Infinity.POSITIVE)),
            (lambda: 3 == I, (3, 4)),
        ],
    )
    def test_1_1_a_comparison_with_a_number_is_a_domain(self, made, expected):
        assert made() == ff.Domain((I, ff.UnitRange(*expected)))

    def test_1_1_a_comparison_of_dimensions_is_a_truth_value(self):
        assert (I == J) is False
        assert (I == ff.Dimension("I")) is True
        assert (I != J) is True
        assert {I: 1}[ff.Dimension("I")] == 1

    def test_1_1_unequal_a_number_has_two_disjoint_parts(self):
        with pytest.raises(NotImplementedError):
            _ = I != 3

    @pytest.mark.parametrize("offset", [0.3, 1.25, float("inf")])
    def test_1_1_other_fractions_are_no_shift(self, offset):
        with pytest.raises(FieldforgeError, match=r"Invalid offset .* for a Cartesian shift"):
            _ = I + offset


class TestCanonicalOrder:
    """1.2."""

    def test_1_2_horizontal_comes_before_local_before_vertical_and_names_are_sorted(self):
        assert promote_dims((J,), (K,), (I,), (V2ELocal,)) == [I, J, V2ELocal, K]

    def test_1_2_a_staggered_dimension_sorts_by_its_base(self):
        Jh = ff.flip_staggered(J)

        assert promote_dims((Jh,), (I, K)) == [I, Jh, K]

    def test_1_2_each_list_must_be_in_order(self):
        with pytest.raises(
            ValueError,
            match=r"Dimensions 'J\[horizontal\], I\[horizontal\]' are not ordered correctly, "
            r"expected 'I\[horizontal\], J\[horizontal\]'",
        ):
            promote_dims((J, I))

    def test_1_2_one_local_dimension_is_the_most(self):
        with pytest.raises(ValueError, match="local"):
            promote_dims((V2ELocal,), (local("E2V"),))

    def test_1_2_a_dimension_and_its_counterpart_do_not_meet(self):
        with pytest.raises(ValueError, match="staggered"):
            promote_dims((I,), (Ih,))

    def test_1_2_an_annotation_out_of_order_says_so_in_a_note(self):
        with pytest.raises(ff.errors.InvalidAnnotationError) as caught:

            @ff.field_operator
            def wrong(u: ff.Field[[J, I], float]) -> ff.Field[[J, I], float]:
                return u

        assert any("are not ordered correctly, expected" in note for note in caught.value.notes)

    def test_1_2_fields_made_by_constructors_are_not_checked(self):
        assert ff.zeros({J: 2, I: 3}).domain.dims == (J, I)


class TestRangesAndDomains:
    """1.3."""

    def test_1_3_an_empty_range_is_normalised(self):
        assert ff.UnitRange(5, 2) == ff.UnitRange(0, 0)
        assert ff.UnitRange(5, 5).is_empty()

    def test_1_3_a_range_is_a_sequence_of_integers(self):
        indices = ff.UnitRange(2, 6)

        assert list(indices) == [2, 3, 4, 5]
        assert (len(indices), indices[0], indices[-1]) == (4, 2, 5)
        assert indices[1:3] == ff.UnitRange(3, 5)
        assert 5 in indices
        assert 6 not in indices
        with pytest.raises(IndexError):
            _ = indices[4]

    def test_1_3_ranges_meet_and_move(self):
        assert ff.UnitRange(0, 5) & ff.UnitRange(3, 9) == ff.UnitRange(3, 5)
        assert ff.UnitRange(0, 5) & ff.UnitRange(7, 9) == ff.UnitRange(0, 0)
        assert ff.UnitRange(0, 5) + 2 == ff.UnitRange(2, 7)
        assert ff.UnitRange(0, 5) - 2 == ff.UnitRange(-2, 3)

    def test_1_3_comparisons_of_ranges_are_tests_of_subsets(self):
        small, large = ff.UnitRange(1, 3), ff.UnitRange(0, 5)

        assert small <= large
        assert small < large
        assert large >= small
        assert large > small
        assert not large <= small
        assert not large < ff.UnitRange(0, 5)

    def test_1_3_infinite_ranges_say_which_side_is_finite(self):
        left = ff.UnitRange(0, Infinity.POSITIVE)

        assert ff.UnitRange.is_left_finite(left)
        assert not ff.UnitRange.is_right_finite(left)
        assert not ff.UnitRange.is_finite(left)
        assert ff.UnitRange.is_finite(ff.UnitRange(0, 2))
        assert ff.UnitRange.infinite() == ff.UnitRange(Infinity.NEGATIVE, Infinity.POSITIVE)
        with pytest.raises(ValueError, match="infinite"):
            len(left)

    def test_1_3_text_of_a_range(self):
        assert str(ff.UnitRange(1, 3)) == "(1:3)"

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (ff.UnitRange(1, 3), (1, 3)),
            (range(1, 3), (1, 3)),
            ((1, 3), (1, 3)),
            ((None, 3), (Infinity.NEGATIVE, 3)),
            ((1, None), (1, Infinity.POSITIVE)),
            (4, (0, 4)),
            (np.int32(4), (0, 4)),
            (None, (Infinity.NEGATIVE, Infinity.POSITIVE)),
        ],
    )
    def test_1_3_what_a_range_is_made_of(self, given, expected):
        assert ff.unit_range(given) == ff.UnitRange(*expected)

    @pytest.mark.parametrize("given", [range(0, 4, 2), "ab", (1, 2, 3), 1.5])
    def test_1_3_what_no_range_is_made_of(self, given):
        with pytest.raises((FieldforgeError, TypeError, ValueError)):
            ff.unit_range(given)

    def test_1_3_a_named_range_is_a_pair(self):
        dim, indices = named_range((I, (1, 3)))

        assert (dim, indices) == NamedRange(I, ff.UnitRange(1, 3)) == (I, ff.UnitRange(1, 3))

    def test_1_3_a_domain_is_made_in_many_ways(self):
        expected = ff.Domain(NamedRange(I, ff.UnitRange(0, 4)), NamedRange(J, ff.UnitRange(1, 3)))

        assert ff.domain({I: 4, J: (1, 3)}) == expected
        assert ff.domain(((I, 4), (J, (1, 3)))) == expected
        assert ff.domain(expected) == expected
        assert ff.Domain(dims=(I, J), ranges=(ff.UnitRange(0, 4), ff.UnitRange(1, 3))) == expected

    def test_1_3_a_domain_names_each_dimension_once(self):
        with pytest.raises(NotImplementedError):
            ff.Domain((I, 3), (I, 4))

    def test_1_3_members_of_a_domain(self):
        box = ff.domain({I: 4, J: (1, 3)})

        assert (box.dims, box.ndim, box.shape, box.size) == ((I, J), 2, (4, 2), 8)
        assert box.ranges == (ff.UnitRange(0, 4), ff.UnitRange(1, 3))
        assert box[0] == box[I] == NamedRange(I, ff.UnitRange(0, 4))
        assert box[1:] == ff.domain({J: (1, 3)})
        assert [dim for dim, _ in box] == [I, J]
        assert len(box) == 2
        assert box[J].unit_range == ff.UnitRange(1, 3)
        with pytest.raises(KeyError):
            _ = box[K]

    def test_1_3_an_infinite_domain_has_no_size(self):
        assert (I < 3).size is None
        assert not ff.Domain.is_finite(I < 3)
        assert ff.domain({I: 0}).is_empty()

    def test_1_3_intersection_takes_a_missing_dimension_as_infinite(self):
        assert ff.domain({J: 4}) & ff.domain({I: 3, J: (2, 9)}) == ff.domain({I: 3, J: (2, 4)})

    def test_1_3_union_is_for_one_dimension_without_a_hole(self):
        assert (I < 3) | (I >= 3) == ff.Domain((I, ff.UnitRange.infinite()))
        assert ff.domain({I: 3}) | ff.domain({I: (2, 7)}) == ff.domain({I: 7})
        for wrong in (ff.domain({I: (4, 7)}), ff.domain({J: 3}), ff.domain({I: 3, J: 3})):
            with pytest.raises(NotImplementedError):
                _ = ff.domain({I: 3}) | wrong

    def test_1_3_slices_are_relative(self):
        assert ff.domain({I: (2, 7), J: 4}).slice_at[1:-1, :2] == ff.domain({I: (3, 6), J: 2})

    def test_1_3_dimensions_are_found_and_replaced(self):
        box = ff.domain({I: 4, J: 3})

        assert (box.dim_index(J), box.dim_index(K)) == (1, None)
        with pytest.raises(ValueError, match="K"):
            box.dim_index(K, allow_missing=False)
        assert box.pop(I) == box.pop(0) == ff.domain({J: 3})
        assert box.insert(1, named_range((K, 2))) == ff.domain({I: 4, K: 2, J: 3})
        assert box.insert(J, named_range((K, 2))) == ff.domain({I: 4, K: 2, J: 3})
        assert box.replace(I, named_range((K, 2))) == ff.domain({K: 2, J: 3})


@ff.field_operator(backend=None)
def forward(u: Line) -> Line:
    return u(I + 1)


@ff.field_operator(backend=None)
def diagonal(u: Plane) -> Plane:
    return u(I + 1, J - 2)


@ff.field_operator(backend=None)
def twice_the_same(u: Line) -> Line:
    return u(I + 1, I + 1)


@ff.field_operator(backend=None)
def applied_in_turn(u: Line) -> Line:
    return u(I + 3)(I - 1)


class TestCartesianShifts:
    """1.4."""

    def test_1_4_a_shift_only_relabels(self):
        u = field({I: (2, 7)}, random(5))

        shifted = u(I + 1)

        assert shifted.domain == ff.domain({I: (1, 6)})
        assert np.shares_memory(shifted.ndarray, u.ndarray)

    def test_1_4_a_shift_reads_the_neighbour(self, backend):
        u = random(6)

        np.testing.assert_array_equal(run(forward, field(I, u), on={I: 5}, backend=backend), u[1:])

    def test_1_4_several_shifts_at_once(self, backend):
        u = random(4, 5)
        out = run(diagonal, field((I, J), u), on={I: 3, J: (2, 5)}, backend=backend)

        np.testing.assert_array_equal(out, u[1:, :3])

    @pytest.mark.parametrize("operator", [twice_the_same, applied_in_turn])
    def test_1_4_shifts_along_one_dimension_add_up(self, backend, operator):
        u = random(6)
        out = run(operator, field({I: (-1, 5)}, u), on={I: (0, 3)}, backend=backend)

        np.testing.assert_array_equal(out, u[3:])

    def test_1_4_the_object_behind_a_shift(self):
        shift = I + 2

        assert shift == ff.CartesianConnectivity(I, 2)
        assert shift == ff.CartesianConnectivity.for_translation(I, 2)
        assert shift.inverse_image(ff.UnitRange(2, 7))[0] == NamedRange(I, ff.UnitRange(0, 5))
        moved = ff.CartesianConnectivity.for_relocation(I, Ih)
        assert (moved.domain_dim, moved.codomain, moved.offset) == (Ih, I, 0)

    def test_1_4_a_variable_offset_is_refused(self):
        with pytest.raises(ff.errors.DSLError, match="only supported with a literal right-hand"):

            @ff.field_operator
            def moved(u: Line, n: ff.int32) -> Line:
                return u(I + n)


Staggered = ff.Field[ff.Dims[Ih], ff.float64]


@ff.field_operator(backend=None)
def above(a: Line) -> Staggered:
    return a(Ih + 0.5)


@ff.field_operator(backend=None)
def below(a: Line) -> Staggered:
    return a(Ih - 0.5)


@ff.field_operator(backend=None)
def base_above(b: Staggered) -> Line:
    return b(I + 0.5)


@ff.field_operator(backend=None)
def base_below(b: Staggered) -> Line:
    return b(I - 0.5)


@ff.field_operator(backend=None)
def far(a: Line) -> Staggered:
    return a(Ih - 1.5)


class TestStaggered:
    """1.5."""

    def test_1_5_a_counterpart_has_a_prefix_and_a_way_back(self):
        assert Ih.value == "_StaggeredI"
        assert Ih.kind == I.kind
        assert ff.flip_staggered(Ih) is I
        assert (ff.is_staggered(Ih), ff.is_staggered(I)) == (True, False)
        assert ff.as_non_staggered(Ih) is ff.as_non_staggered(I) is I

    def test_1_5_shifts_between_a_dimension_and_its_counterpart(self):
        a, b = field({I: 5}, random(5)), field({Ih: 5}, random(5))

        assert a(Ih + 0.5).domain == ff.domain({Ih: 5})  # g(i) = a(i)
        assert a(Ih - 0.5).domain == ff.domain({Ih: (1, 6)})  # g(i) = a(i - 1)
        assert b(I + 0.5).domain == ff.domain({I: (-1, 4)})  # g(i) = b(i + 1)
        assert b(I - 0.5).domain == ff.domain({I: 5})  # g(i) = b(i)

    @pytest.mark.parametrize(
        ("operator", "start"), [(above, 0), (below, 1), (far, 2)], ids=["above", "below", "far"]
    )
    def test_1_5_to_the_counterpart(self, backend, operator, start):
        a = random(5)
        out = run(operator, field(I, a), on={Ih: (start, 5)}, backend=backend)

        np.testing.assert_array_equal(out, a[: 5 - start])

    @pytest.mark.parametrize(
        ("operator", "start"), [(base_above, 1), (base_below, 0)], ids=["above", "below"]
    )
    def test_1_5_from_the_counterpart(self, backend, operator, start):
        b = random(5)
        out = run(operator, field(Ih, b), on={I: 5 - start}, backend=backend)

        np.testing.assert_array_equal(out, b[start:])


Ioff = ff.FieldOffset("Ioff", source=I, target=(I,))


@ff.field_operator(backend=None)
def by_offset(u: Line) -> Line:
    return u(Ioff[1]) - u(Ioff[-1])


class TestFieldOffset:
    """1.6."""

    def test_1_6_the_second_target_is_local(self):
        with pytest.raises(ValueError, match="must be a local dimension"):
            ff.FieldOffset("V2E", source=Edge, target=(Vertex, J))

    def test_1_6_parts_of_an_offset(self):
        offset = ff.FieldOffset("V2E", source=Edge, target=(Vertex, V2ELocal))

        assert (offset.value, offset.source, offset.target) == ("V2E", Edge, (Vertex, V2ELocal))

    @pytest.mark.parametrize("provider", [None, {}, {"Ioff": I}, {"V2E": MESH["V2E"], "Ioff": I}])
    def test_1_6_rule_a_cartesian_offset_needs_no_entry_and_tolerates_a_dimension(
        self, backend, provider
    ):
        u = random(6)
        out = run(by_offset, field(I, u), on={I: (1, 5)}, backend=backend, offset_provider=provider)

        np.testing.assert_array_equal(out, u[2:] - u[:-2])
