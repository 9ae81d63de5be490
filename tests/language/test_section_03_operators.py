"""Section 3: field operators: signatures, statements, expressions, arithmetic, closures, calls."""

# ruff: noqa: RET503, RET504 - what operators may be written like

import enum
import math
import types
from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import (
    abs,  # noqa: A004 - a name of the language
    astype,
    float32,
    float64,
    int32,
    int64,
    maximum,
    minimum,
    where,
)

from ..dimensions import I, J, K, Line, Plane
from ..sources import names_of
from .support import Bools, Ints, Line32, Slab, field, random, run

REAL = random(6)
POSITIVE = np.abs(REAL) + 0.5


class TestSignature:
    """3.1."""

    def test_3_1_the_decorator_may_be_called_plainly_or_with_arguments(self, gives):
        def same(u: Line) -> Line:
            return u

        made = [
            ff.field_operator(same, backend=None),
            ff.field_operator(backend=None)(same),
            ff.field_operator(same),
        ]

        for operator in made:
            assert operator.__name__ == "same"
            gives(REAL, operator, field(I, REAL))

    def test_3_1_the_return_annotation_is_optional(self, gives):
        @ff.field_operator(backend=None)
        def doubled(u: Line):
            """Documented."""
            return u + u

        gives(REAL + REAL, doubled, field(I, REAL))
        assert doubled.__doc__ == "Documented."

    def test_3_1_an_operator_may_have_no_parameters(self, gives):
        @ff.field_operator(backend=None)
        def constant() -> Line:
            return ff.broadcast(2.5, (I,))

        gives([2.5] * 3, constant, on={I: (3, 6)})


class Unpacked(NamedTuple):
    first: Line
    second: Line


class TestStatements:
    """3.2."""

    def test_3_2_a_name_may_be_bound_again_with_another_type(self, gives):
        @ff.field_operator(backend=None)
        def rebound(u: Line) -> Ints:
            x = u + 1.0
            x = x * x
            x = astype(x, int32)
            return x

        gives(((REAL + 1.0) * (REAL + 1.0)).astype(np.int32), rebound, field(I, REAL))

    def test_3_2_several_targets_and_annotations(self, gives):
        @ff.field_operator(backend=None)
        def many(u: Line) -> tuple[Line, Line]:
            a = b = u + 1.0
            c: Line = a * b
            a = c
            return a, b

        gives(((REAL + 1.0) * (REAL + 1.0), REAL + 1.0), many, field(I, REAL))

    def test_3_2_tuples_are_unpacked_with_one_rest(self, backend):
        @ff.field_operator(backend=None)
        def unpacked(u: Line, v: Line) -> tuple[Line, Line, Line]:
            a, b = (u, v)
            first, *rest, last = (a, b, a + b, a - b)
            _, d = rest
            return first, d, last

        out = tuple(ff.zeros({I: 6}) for _ in range(3))
        unpacked.with_backend(backend)(field(I, REAL), field(I, POSITIVE), out=out)

        expected = (REAL, REAL + POSITIVE, REAL - POSITIVE)
        for found, wanted in zip(out, expected, strict=True):
            np.testing.assert_array_equal(found.asnumpy(), wanted)

    def test_3_2_collections_are_unpacked_and_calls_too(self, gives):
        @ff.field_operator(backend=None)
        def both(u: Line) -> Unpacked:
            return Unpacked(u + 1.0, u - 1.0)

        @ff.field_operator(backend=None)
        def product(u: Line) -> Line:
            first, second = both(u)
            return first * second

        gives((REAL + 1.0) * (REAL - 1.0), product, field(I, REAL))

    @pytest.mark.parametrize("n", [-1, 0, 1, 2])
    def test_3_2_if_elif_else_choose_by_a_scalar(self, gives, n):
        @ff.field_operator(backend=None)
        def chosen(u: Line, n: int32) -> Line:
            factor = 1.0
            if n == 0:
                factor = 2.0
                x = u
            elif n > 0:
                x = u + 1.0
                pass
            else:
                x = -u
            return x * factor

        expected = {0: REAL * 2.0, -1: -REAL}.get(n, REAL + 1.0)

        gives(expected, chosen, field(I, REAL), n)

    @pytest.mark.parametrize(("first", "second"), [(True, True), (False, True), (False, False)])
    def test_3_2_branches_may_return_or_fall_through(self, gives, first, second):
        @ff.field_operator(backend=None)
        def early(u: Line, first: bool, second: bool) -> Line:
            if first:
                return u
            if second:
                v = u * 2.0
            else:
                return u * 3.0
            return v + 1.0

        expected = REAL if first else REAL * 2.0 + 1.0 if second else REAL * 3.0

        gives(expected, early, field(I, REAL), first, second)

    def test_3_2_code_after_a_full_return_is_dead(self, gives):
        @ff.field_operator(backend=None)
        def dead(u: Line) -> Line:
            return u
            u = u + 1.0

        gives(REAL, dead, field(I, REAL))

    def test_3_2_nested_branches_assign_tuples(self, backend):
        @ff.field_operator(backend=None)
        def nested(u: Line, a: bool, b: bool) -> tuple[Line, Line]:
            x, y = u, u
            if a:
                if b:
                    x, y = y + 1.0, x - 1.0
                else:
                    y = u * 2.0
            return x, y

        for a in (True, False):
            for b in (True, False):
                out = ff.zeros({I: 6}), ff.zeros({I: 6})
                nested.with_backend(backend)(field(I, REAL), a, b, out=out)
                x = REAL + 1.0 if a and b else REAL
                y = (REAL - 1.0 if b else REAL * 2.0) if a else REAL
                np.testing.assert_array_equal(out[0].asnumpy(), x)
                np.testing.assert_array_equal(out[1].asnumpy(), y)


@ff.field_operator(backend=None)
def halved(u: Line, by: float64) -> Line:
    return u / by


@ff.field_operator(backend=None)
def magnitude(x: float64) -> float64:
    return x if x > 0.0 else -x


class TestExpressions:
    """3.3."""

    def test_3_3_comparisons_and_truth_values(self, gives):
        @ff.field_operator(backend=None)
        def compared(u: Line, v: Line) -> Bools:
            near = (u >= v) & ~(u > v + 1.0)
            return (near | (u == 0.0)) ^ ((u != v) & (u <= v) & (u < 0.5))

        u, v = np.array([0.0, 1.0, 2.0, -1.0, 0.6, 0.4]), np.array([1.0, 0.5, 0.5, -1.0, 0.7, 0.7])
        near = (u >= v) & ~(u > v + 1.0)
        expected = (near | (u == 0.0)) ^ ((u != v) & (u <= v) & (u < 0.5))

        gives(expected, compared, field(I, u), field(I, v))

    @pytest.mark.parametrize("flag", [True, False])
    def test_3_3_not_and_ternaries_of_scalars(self, gives, flag):
        @ff.field_operator(backend=None)
        def flipped(u: Line, flag: bool) -> Line:
            return u if not flag else halved(u, 2.0) if flag else -u

        gives(REAL / 2.0 if flag else REAL, flipped, field(I, REAL), flag)

    def test_3_3_unary_signs_and_tuple_elements(self, gives):
        @ff.field_operator(backend=None)
        def signed(u: Line) -> Line:
            pair = (-u, +u, (u + 1.0,))
            return pair[0] * pair[-2] + pair[2][0]

        gives(-REAL * REAL + (REAL + 1.0), signed, field(I, REAL))

    def test_3_3_operators_call_operators_with_keywords_in_any_order(self, gives):
        @ff.field_operator(backend=None)
        def caller(u: Line) -> Line:
            return halved(by=2.0, u=halved(u, by=4.0))

        gives(REAL / 4.0 / 2.0, caller, field(I, REAL))

    def test_3_3_operators_on_scalars_are_called_with_scalars(self, gives):
        @ff.field_operator(backend=None)
        def caller(u: Line, s: float64) -> Line:
            return u * magnitude(s)

        gives(REAL * 2.0, caller, field(I, REAL), -2.0)

    def test_3_3_type_constructors_take_literals_and_strings(self, gives):
        @ff.field_operator(backend=None)
        def constants(u: Line32, v: Line) -> tuple[Line32, Line]:
            return u * float32(0.1) + float32("0.5"), v * float(-1) + float64("3.4")

        u = REAL.astype(np.float32)

        gives(
            (u * np.float32(0.1) + np.float32(0.5), REAL * -1.0 + 3.4), constants, field(I, u),
            field(I, REAL),
        )  # fmt: skip

    def test_3_3_names_of_modules_are_looked_into(self, gives):
        @ff.field_operator(backend=None)
        def through(u: Line) -> Line:
            return ff.where(u > ff.float64(0.0), ff.sqrt(ff.abs(u)), u)

        gives(np.where(REAL > 0.0, np.sqrt(np.abs(REAL)), REAL), through, field(I, REAL))


def binary(op: str, annotation: object, result: object, names: dict | None = None):
    """Make the operator `u <op> v` on two fields."""
    source = f"def op(u: T, v: T) -> R:\n    return u {op} v\n"
    return made(source, {"T": annotation, "R": result, **(names or {})})


def made(source: str, names: dict):
    """Decorate a function that is written as text, as notebooks do."""
    return ff.field_operator(names_of(source, **names)["op"], backend=None)


INT_A = np.array([7, -7, 7, -7, 5, 0], np.int32)
INT_B = np.array([2, 2, -2, -2, 3, 5], np.int32)


class TestArithmetic:
    """3.4."""

    @pytest.mark.parametrize("op", ["+", "-", "*", "/", "**", "//"])
    @pytest.mark.parametrize("kind", [float32, float64])
    def test_3_4_floats_keep_their_dtype(self, backend, op, kind):
        numbers = ff.Field[ff.Dims[I], kind]
        u, v = POSITIVE.astype(kind), (np.abs(random(6, seed=3)) + 0.25).astype(kind)
        out = run(
            binary(op, numbers, numbers), field(I, u), field(I, v), on={I: 6}, dtype=kind,
            backend=backend,
        )  # fmt: skip

        expected = eval(f"u {op} v")
        assert expected.dtype == kind
        np.testing.assert_allclose(out, expected, rtol=4 * np.finfo(kind).eps)

    @pytest.mark.parametrize(
        ("op", "expected"),
        [
            ("+", INT_A + INT_B),
            ("-", INT_A - INT_B),
            ("*", INT_A * INT_B),
            ("/", np.array([3, -3, -3, 3, 1, 0])),  # Rule: truncates
            ("//", np.array([3, -4, -4, 3, 1, 0])),  # Rule: floors
            ("%", np.array([1, 1, -1, -1, 2, 0])),  # Rule: sign of the divisor
        ],
        ids=["add", "sub", "mul", "div", "floordiv", "mod"],
    )
    @pytest.mark.parametrize("kind", [int32, int64], ids=["int32", "int64"])
    def test_3_4_rule_integers_divide_as_the_rules_say(self, gives, op, expected, kind):
        numbers = ff.Field[ff.Dims[I], kind]
        gives(
            expected, binary(op, numbers, numbers), field(I, INT_A.astype(kind)),
            field(I, INT_B.astype(kind)),
        )  # fmt: skip

    def test_3_4_rule_division_of_integers_truncates_inside_expressions_too(self, gives):
        @ff.field_operator(backend=None)
        def there_and_back(u: Ints) -> Ints:
            return u / 2 * 2

        gives(np.trunc(INT_A / 2).astype(np.int32) * 2, there_and_back, field(I, INT_A))

    def test_3_4_the_type_of_a_power_is_that_of_its_base(self, backend):
        @ff.field_operator(backend=None)
        def powers(u: Line, n: Ints) -> tuple[Line, Ints, Line]:
            return u**2, n**2, u**0.5

        out = ff.zeros({I: 6}), ff.zeros({I: 6}, dtype=int32), ff.zeros({I: 6})
        powers.with_backend(backend)(field(I, POSITIVE), field(I, INT_A), out=out)

        np.testing.assert_allclose(out[0].asnumpy(), POSITIVE**2, rtol=1e-15)
        np.testing.assert_array_equal(out[1].asnumpy(), INT_A**2)
        np.testing.assert_allclose(out[2].asnumpy(), POSITIVE**0.5, rtol=1e-15)

    def test_3_4_nothing_is_raised_for_overflow_and_division_by_zero(self, backend):
        @ff.field_operator(backend=None)
        def extreme(u: Line, n: Ints) -> tuple[Line, Ints]:
            return u / (u - u), n * n * n

        u, n = np.array([1.0, -1.0, 0.0]), np.array([2_000_000, 3, -4], np.int32)
        out = ff.zeros({I: 3}), ff.zeros({I: 3}, dtype=int32)
        extreme.with_backend(backend)(field(I, u), field(I, n), out=out)

        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(out[0].asnumpy(), u / (u - u))
            np.testing.assert_array_equal(out[1].asnumpy(), n * n * n)

    def test_3_4_fields_of_unlike_dimensions_are_broadcast(self, gives):
        @ff.field_operator(backend=None)
        def spread(u: Line, v: ff.Field[ff.Dims[K], float64], s: float64) -> Slab:
            return u * v + s

        u, v = random(4), random(3)

        gives(u[:, None] * v[None, :] + 2.0, spread, field(I, u), field(K, v), 2.0)

    def test_3_4_a_scalar_becomes_a_field_without_dimensions(self, gives):
        @ff.field_operator(backend=None)
        def scaled(u: Line, s: ff.Field[[], float64]) -> Line:
            return u * s

        @ff.field_operator(backend=None)
        def caller(u: Line, s: float64) -> Line:
            return scaled(u, s)

        gives(REAL * 3.0, caller, field(I, REAL), 3.0)

    def test_3_4_a_scalar_computed_in_single_precision_is_an_argument(self, gives):
        @ff.field_operator(backend=None)
        def stepped(u: Line32, step: float32) -> Line32:
            return single(u, float32("0.1") * step)

        u, step = REAL.astype(np.float32), np.float32(0.3)

        gives(u * (np.float32(0.1) * step), stepped, field(I, u), step)


@ff.field_operator(backend=None)
def single(u: Line32, s: float32) -> Line32:
    return u * s


LIMIT = 0.25
COUNT = np.int32(3)
PAIR = (2.0, (1.0, 4.0))
sqrt_by_another_name = ff.sqrt
constants = ff.FrozenNamespace(G=9.81, N=int32(2))
module = types.ModuleType("module")
module.dim = I
module.halved = halved
module.LIMIT = 0.125


class Physics(enum.Enum):
    G = 9.81
    LEVELS = 4


class Typed(np.float64, enum.Enum):
    RD = 287.04
    CPD = 1004.64


class Mode(int, enum.Enum):
    SLOW = 0
    FAST = 1


class TestClosures:
    """3.5."""

    def test_3_5_rule_plain_numbers_and_tuples_are_folded(self, gives):
        @ff.field_operator(backend=None)
        def limited(u: Line, n: Ints) -> tuple[Line, Ints]:
            return minimum(u, LIMIT) * PAIR[1][1] + math.pi, n * COUNT

        gives(
            (np.minimum(REAL, 0.25) * 4.0 + math.pi, INT_A * 3), limited, field(I, REAL),
            field(I, INT_A),
        )  # fmt: skip

    def test_3_5_constant_namespaces_and_enums_are_folded(self, gives):
        @ff.field_operator(backend=None)
        def heavy(u: Line, n: Ints) -> tuple[Line, Ints]:
            return u * constants.G + Physics.G, n + constants.N + Physics.LEVELS

        gives((REAL * 9.81 + 9.81, INT_A + 6), heavy, field(I, REAL), field(I, INT_A))

    @pytest.mark.parametrize("mode", Mode)
    def test_3_5_members_of_typed_enums_are_numbers(self, gives, mode):
        @ff.field_operator(backend=None)
        def gas(u: Line, mode: int32) -> Line:
            return u * Typed.RD / Typed.CPD if mode == Mode.FAST else u

        expected = REAL * 287.04 / 1004.64 if mode else REAL

        gives(expected, gas, field(I, REAL), mode)

    def test_3_5_builtins_under_another_name_and_things_in_modules(self, gives):
        @ff.field_operator(backend=None)
        def rooted(u: Line) -> Line:
            v = sqrt_by_another_name(abs(u)) + module.LIMIT
            return module.halved(v, 2.0)(module.dim + 1)

        expected = (np.sqrt(np.abs(REAL)) + 0.125) / 2.0

        gives(expected[1:], rooted, field(I, REAL))

    def test_3_5_nonlocals_come_before_globals(self, gives):
        LIMIT = 0.75

        @ff.field_operator(backend=None)
        def limited(u: Line) -> Line:
            return minimum(u, LIMIT)

        gives(np.minimum(REAL, 0.75), limited, field(I, REAL))

    def test_3_5_rule_one_name_may_mean_different_things_in_two_operators(self, gives):
        def with_factor(factor):
            @ff.field_operator(backend=None)
            def scaled(u: Line) -> Line:
                return u * factor

            return scaled

        by_two, by_three = with_factor(2.0), with_factor(3.0)

        @ff.field_operator(backend=None)
        def both(u: Line) -> Line:
            return by_two(u) - by_three(u)

        gives(REAL * 2.0 - REAL * 3.0, both, field(I, REAL))

    def test_3_5_rule_a_program_may_call_an_operator_under_another_name(self, backend):
        renamed = halved

        @ff.program(backend=None)
        def call(u: Line, out: Line):
            renamed(u, 2.0, out=out)

        out = ff.zeros({I: 6})
        call.with_backend(backend)(field(I, REAL), out, offset_provider={})

        np.testing.assert_array_equal(out.asnumpy(), REAL / 2.0)

    def test_3_5_a_global_that_is_rebound_is_noticed_by_the_next_object(
        self, compiled, monkeypatch
    ):
        monkeypatch.setattr(module, "LIMIT", 0.5)

        @ff.field_operator(backend=None)
        def limited(u: Line) -> Line:
            return minimum(u, module.LIMIT)

        first = run(limited, field(I, REAL), on={I: 6}, backend=compiled)
        monkeypatch.setattr(module, "LIMIT", 0.125)
        second = run(limited, field(I, REAL), on={I: 6}, backend=compiled)

        np.testing.assert_array_equal(first, np.minimum(REAL, 0.5))
        np.testing.assert_array_equal(second, np.minimum(REAL, 0.125))


@ff.field_operator(backend=None)
def split(u: Line) -> tuple[Line, Line]:
    return minimum(u, 0.0), maximum(u, 0.0)


class TestCalls:
    """3.6."""

    def test_3_6_out_is_required(self, backend):
        with pytest.raises(
            ff.errors.MissingArgumentError, match="Expected keyword-argument 'out'"
        ) as caught:
            halved.with_backend(backend)(field(I, REAL), 2.0)

        assert caught.value.is_kwarg

    def test_3_6_a_call_writes_in_place_and_returns_nothing(self, backend):
        out = ff.zeros({I: 6})
        array = out.ndarray

        returned = halved.with_backend(backend)(field(I, REAL), by=2.0, out=out)

        assert returned is None
        assert out.ndarray is array or np.shares_memory(out.ndarray, array)
        np.testing.assert_array_equal(out.asnumpy(), REAL / 2.0)

    def test_3_6_positional_and_keyword_arguments_mix(self, gives):
        gives(REAL / 2.0, halved, by=2.0, u=field(I, REAL))

    @pytest.mark.parametrize(
        "domain", [{I: (1, 4)}, ff.domain({I: (1, 4)})], ids=["dict", "domain"]
    )
    def test_3_6_a_domain_limits_what_is_written(self, backend, domain):
        out = ff.full({I: 6}, 9.0)

        halved.with_backend(backend)(field(I, REAL), 2.0, out=out, domain=domain)

        expected = np.full(6, 9.0)
        expected[1:4] = REAL[1:4] / 2.0
        np.testing.assert_array_equal(out.asnumpy(), expected)

    def test_3_6_a_tuple_of_domains_matches_the_outputs(self, backend):
        low, high = ff.full({I: 6}, 9.0), ff.full({I: (0, 5)}, 9.0)

        split.with_backend(backend)(
            field(I, REAL), out=(low, high), domain=({I: (0, 2)}, {I: (3, 5)})
        )

        expected = np.full(6, 9.0), np.full(5, 9.0)
        expected[0][:2], expected[1][3:] = np.minimum(REAL, 0.0)[:2], np.maximum(REAL, 0.0)[3:5]
        np.testing.assert_array_equal(low.asnumpy(), expected[0])
        np.testing.assert_array_equal(high.asnumpy(), expected[1])

    def test_3_6_without_a_domain_each_output_has_its_own(self, backend):
        low, high = ff.zeros({I: (1, 4)}), ff.zeros({I: (2, 6)})

        split.with_backend(backend)(field(I, REAL), out=(low, high))

        np.testing.assert_array_equal(low.asnumpy(), np.minimum(REAL, 0.0)[1:4])
        np.testing.assert_array_equal(high.asnumpy(), np.maximum(REAL, 0.0)[2:6])

    def test_3_6_an_output_of_another_structure_is_refused(self, backend):
        with pytest.raises(ff.errors.FieldforgeError):
            split.with_backend(backend)(field(I, REAL), out=ff.zeros({I: 6}))
        with pytest.raises(ff.errors.FieldforgeError):
            halved.with_backend(backend)(field(I, REAL), 2.0, out=ff.zeros({J: 6}))

    def test_3_6_operators_made_of_text_have_their_source(self, gives):
        operator = made(
            "def op(u: Plane) -> Plane:\n    return u(I + 1)\n", {"Plane": Plane, "I": I}
        )
        u = random(3, 2)

        gives(u[1:], operator, field((I, J), u))


def test_3_4_where_of_scalars_keeps_its_dtype(gives):
    @ff.field_operator(backend=None)
    def marked(u: Line) -> Ints:
        return where(u > 0.0, 1, 0)

    gives(REAL > 0.0, marked, field(I, REAL))
