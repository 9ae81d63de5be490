"""Section 2: scalar types, field types, tuples and named collections."""

import dataclasses
import enum
from typing import Annotated, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.type_system import type_translation

from ..dimensions import C2EDim, Cell, I, K, Line
from .support import field, random, run

SCALARS = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
    "float64",
)  # fmt: skip


class TestScalars:
    """2.1."""

    def test_2_1_scalar_types_are_those_of_numpy_and_python(self):
        assert ff.float64 is np.float64
        assert ff.int32 is np.int32
        assert (ff.bool, ff.int, ff.float, ff.tuple) == (bool, int, float, tuple)
        assert ff.IndexType is ff.int32

    @pytest.mark.parametrize("name", SCALARS)
    def test_2_1_every_scalar_type_is_computed_with(self, backend, name):
        kind = getattr(ff, name)
        annotation = ff.Field[ff.Dims[I], kind]

        def chosen(mask: ff.Field[ff.Dims[I], bool], u: annotation, v: annotation) -> annotation:
            return ff.where(mask, u, v)

        operator = ff.field_operator(chosen, backend=None)
        u, v = np.array([1, 0, 1, 0]).astype(kind), np.array([0, 0, 1, 1]).astype(kind)
        mask = np.array([True, False, True, False])
        out = run(
            operator, field(I, mask), field(I, u), field(I, v), on={I: 4}, dtype=kind,
            backend=backend,
        )  # fmt: skip

        assert out.dtype == np.dtype(kind)
        np.testing.assert_array_equal(out, np.where(mask, u, v))

    @pytest.mark.parametrize("name", SCALARS[1:])
    def test_2_1_integers_wrap_and_floats_keep_their_type(self, backend, name):
        kind = getattr(ff, name)
        numbers = ff.Field[ff.Dims[I], kind]

        def doubled(u: numbers, s: kind) -> numbers:
            return u * u + s

        u = np.array([0, 1, 7, 100]).astype(kind)
        out = run(
            ff.field_operator(doubled, backend=None), field(I, u), kind(3), on={I: 4}, dtype=kind,
            backend=backend,
        )  # fmt: skip

        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(out, u * u + kind(3))

    def test_2_1_int_and_float_in_annotations_are_64_bits(self):
        assert str(type_translation.from_type_hint(int)) == "int64"
        assert str(type_translation.from_type_hint(float)) == "float64"

    def test_2_1_an_integer_beyond_64_bits_has_none(self):
        with pytest.raises(ValueError, match="64 bits"):
            type_translation.from_value(2**63)


T = TypeVar("T")
Real: TypeAlias = ff.Field[ff.Dims[I], ff.float64]
Generic = ff.Field[ff.Dims[I, K], T]
Described = Annotated[ff.Field[ff.Dims[I], ff.float64], "K"]
CellTable = ff.Field[ff.Dims[Cell, C2EDim], ff.float64]


class TestFieldTypes:
    """2.2."""

    def test_2_2_a_field_without_dimensions(self, gives):
        @ff.field_operator(backend=None)
        def scaled(u: Line, s: ff.Field[[], ff.float64]) -> Line:
            return u * s

        u = random(4)
        number = ff.as_field(ff.domain({}), np.asarray(2.5))

        gives(u * 2.5, scaled, field(I, u), number)

    def test_2_2_aliases_are_looked_through(self, gives):
        @ff.field_operator(backend=None)
        def doubled(u: Real, v: Described, w: "Real") -> Real:
            return u + v + w

        u = random(4)

        gives(u + u + u, doubled, field(I, u), field(I, u), field(I, u))

    def test_2_2_a_generic_alias_is_subscripted(self, gives):
        @ff.field_operator(backend=None)
        def same(u: Generic[ff.float32]) -> Generic[ff.float32]:
            return u

        u = random(3, 2).astype(np.float32)
        gives(u, same, field((I, K), u))

    def test_2_2_a_sparse_field_is_a_parameter(self, gives):
        @ff.field_operator(backend=None)
        def weighted(w: CellTable) -> ff.Field[ff.Dims[Cell], ff.float64]:
            return ff.neighbor_sum(w, axis=C2EDim)

        w = random(4, 3)

        gives(w.sum(axis=1), weighted, field((Cell, C2EDim), w), rtol=1e-15)


class Wind(NamedTuple):
    u: Line
    v: Line


@dataclasses.dataclass
class State:
    wind: Wind
    rho: Line


class Pair(NamedTuple):
    s: ff.float64
    f: Line


@ff.field_operator(backend=None)
def turned(wind: Wind) -> Wind:
    return Wind(u=-wind.v, v=wind.u)


@ff.field_operator(backend=None)
def advanced(state: State, dt: ff.float64) -> State:
    return State(Wind(state.wind.u + dt * state.rho, state.wind.v), rho=state.rho * dt)


@ff.field_operator(backend=None)
def scaled_pair(pair: Pair, extra: tuple[Line, tuple[ff.float64, Line]]) -> tuple[Line, Line]:
    return pair.f * pair.s, extra[0] + extra[1][0] * extra[1][1]


@ff.program(backend=None)
def turn(wind: Wind, out: Wind):
    turned(wind, out=out)


@ff.program(backend=None)
def turn_apart(wind: Wind, u: Line, v: Line):
    turned(wind, out=(u, v))


class TestTuplesAndCollections:
    """2.3."""

    def test_2_3_tuples_nest(self, backend):
        @ff.field_operator(backend=None)
        def nested(a: tuple[Line, tuple[Line, Line]]) -> tuple[tuple[Line, Line], Line]:
            return (a[1][1], a[0]), a[1][0]

        x, y, z = (random(3, seed=seed) for seed in range(3))
        out = tuple(ff.zeros({I: 3}) for _ in range(3))
        nested.with_backend(backend)(
            (field(I, x), (field(I, y), field(I, z))), out=((out[0], out[1]), out[2])
        )

        for found, expected in zip(out, (z, x, y), strict=True):
            np.testing.assert_array_equal(found.asnumpy(), expected)

    def test_2_3_a_named_tuple_goes_in_and_out(self, backend):
        u, v = random(3, seed=1), random(3, seed=2)
        out = Wind(ff.zeros({I: 3}), ff.zeros({I: 3}))

        turned.with_backend(backend)(Wind(field(I, u), field(I, v)), out=out)

        np.testing.assert_array_equal(out.u.asnumpy(), -v)
        np.testing.assert_array_equal(out.v.asnumpy(), u)

    def test_2_3_a_dataclass_holds_a_named_tuple(self, backend):
        u, v, rho = (random(3, seed=seed) for seed in range(3))
        out = State(Wind(ff.zeros({I: 3}), ff.zeros({I: 3})), ff.zeros({I: 3}))

        advanced.with_backend(backend)(
            State(Wind(field(I, u), field(I, v)), field(I, rho)), 0.5, out=out
        )

        np.testing.assert_array_equal(out.wind.u.asnumpy(), u + 0.5 * rho)
        np.testing.assert_array_equal(out.wind.v.asnumpy(), v)
        np.testing.assert_array_equal(out.rho.asnumpy(), rho * 0.5)

    def test_2_3_scalars_and_fields_mix_in_tuples(self, gives):
        f, g, h = (random(3, seed=seed) for seed in range(3))

        gives(
            (f * 2.0, g + 3.0 * h), scaled_pair, Pair(2.0, field(I, f)),
            (field(I, g), (3.0, field(I, h))),
        )  # fmt: skip

    def test_2_3_programs_take_collections_whole_and_in_parts(self, backend):
        u, v = random(3, seed=1), random(3, seed=2)
        wind = Wind(field(I, u), field(I, v))
        whole, part = Wind(ff.zeros({I: 3}), ff.zeros({I: 3})), (ff.zeros({I: 3}), ff.zeros({I: 3}))

        turn.with_backend(backend)(wind, whole, offset_provider={})
        turn_apart.with_backend(backend)(wind, *part, offset_provider={})

        for found, expected in zip((*whole, *part), (-v, u, -v, u), strict=True):
            np.testing.assert_array_equal(found.asnumpy(), expected)

    def test_2_3_rule_a_local_class_is_a_collection(self, backend):
        class Split(NamedTuple):
            low: Line
            high: Line

        @ff.field_operator(backend=None)
        def split(u: Line) -> Split:
            return Split(high=ff.maximum(u, 0.0), low=ff.minimum(u, 0.0))

        u = random(5)
        out = Split(ff.zeros({I: 5}), ff.zeros({I: 5}))
        split.with_backend(backend)(field(I, u), out=out)

        np.testing.assert_array_equal(out.low.asnumpy(), np.minimum(u, 0.0))
        np.testing.assert_array_equal(out.high.asnumpy(), np.maximum(u, 0.0))


class Flavour(int, enum.Enum):
    PLAIN = 1
    SWEET = 2


class TestOtherTypes:
    """2.4."""

    @pytest.mark.parametrize(
        ("given", "expected"),
        [("ff.int32", "ff.int64"), ("ff.float32", "ff.float64"), ("ff.int32", "ff.float64")],
    )
    def test_2_4_nothing_is_converted_silently(self, given, expected):
        given, expected = eval(given), eval(expected)

        @ff.field_operator
        def takes(u: ff.Field[ff.Dims[I], expected]) -> ff.Field[ff.Dims[I], expected]:
            return u

        with pytest.raises(ff.errors.DSLTypeError, match="Invalid call to 'takes'"):

            @ff.field_operator
            def gives(u: ff.Field[ff.Dims[I], given]) -> ff.Field[ff.Dims[I], expected]:
                return takes(u)

    def test_2_4_arguments_that_would_lose_something_are_not_converted(self, backend):
        @ff.field_operator(backend=None)
        def same(u: ff.Field[ff.Dims[I], ff.float32]) -> ff.Field[ff.Dims[I], ff.float32]:
            return u

        with pytest.raises(ff.errors.ArgumentError, match=r"(?s)'u'.*float32.*float64"):
            run(same, field(I, random(3)), on={I: 3}, dtype=ff.float32, backend=backend)

    def test_2_4_an_enum_member_is_the_number_that_it_is(self, gives):
        @ff.field_operator(backend=None)
        def flavoured(u: Line, flavour: ff.int32) -> Line:
            return u + 1.0 if flavour == 2 else u

        u = random(3)
        gives(u + 1.0, flavoured, field(I, u), Flavour.SWEET)
