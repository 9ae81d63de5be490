"""Section 1: dimensions, ranges, domains, shifts, staggered dimensions, offsets."""

import pytest

import fieldforge as ff

from ..dimensions import I, J, Line, Plane
from .support import MESH, field, random

Ih = ff.flip_staggered(I)


class TestCanonicalOrder:
    """1.2."""

    def test_1_2_an_annotation_out_of_order_says_so_in_a_note(self):
        with pytest.raises(ff.errors.InvalidAnnotationError) as caught:

            @ff.field_operator
            def wrong(u: ff.Field[[J, I], float]) -> ff.Field[[J, I], float]:
                return u

        assert any("are not ordered correctly, expected" in note for note in caught.value.notes)


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

    def test_1_4_a_shift_reads_the_neighbour(self, gives):
        u = random(6)

        gives(u[1:], forward, field(I, u))

    def test_1_4_several_shifts_at_once(self, gives):
        u = random(4, 5)
        gives(u[1:, :3], diagonal, field((I, J), u), on={I: 3, J: (2, 5)})

    @pytest.mark.parametrize("operator", [twice_the_same, applied_in_turn])
    def test_1_4_shifts_along_one_dimension_add_up(self, gives, operator):
        u = random(6)
        gives(u[3:], operator, field({I: (-1, 5)}, u), on={I: (0, 3)})


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

    @pytest.mark.parametrize(
        ("operator", "start"), [(above, 0), (below, 1), (far, 2)], ids=["above", "below", "far"]
    )
    def test_1_5_to_the_counterpart(self, gives, operator, start):
        a = random(5)
        gives(a[: 5 - start], operator, field(I, a), on={Ih: (start, 5)})

    @pytest.mark.parametrize(
        ("operator", "start"), [(base_above, 1), (base_below, 0)], ids=["above", "below"]
    )
    def test_1_5_from_the_counterpart(self, gives, operator, start):
        b = random(5)
        gives(b[start:], operator, field(Ih, b), on={I: 5 - start})


Ioff = ff.FieldOffset("Ioff", source=I, target=(I,))


@ff.field_operator(backend=None)
def by_offset(u: Line) -> Line:
    return u(Ioff[1]) - u(Ioff[-1])


class TestFieldOffset:
    """1.6."""

    @pytest.mark.parametrize("provider", [None, {}, {"Ioff": I}, {"V2E": MESH["V2E"], "Ioff": I}])
    def test_1_6_rule_a_cartesian_offset_needs_no_entry_and_tolerates_a_dimension(
        self, gives, provider
    ):
        u = random(6)

        gives(u[2:] - u[:-2], by_offset, field(I, u), on={I: (1, 5)}, offset_provider=provider)
