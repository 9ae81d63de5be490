"""Operators that are right: the rows and statements that their text becomes."""

# ruff: noqa: E501 - a row of a table is one function
import enum
import math
import types

import numpy as np
import pytest

from fieldforge.runtime.language.connectivity import FieldOffset
from fieldforge.runtime.language.dimension import Dimension

I = Dimension("I")
HEADER = "def f(x: F, y: FJ, s: F32, m: N, b: B, n: int32, c: bool, t: tuple[F, float]):\n"


class Const(enum.Enum):
    PI = 3.5
    TWO = np.float32(2.0)


class Whole(enum.IntEnum):
    THREE = 3


def lines(parsed):
    """The rows and statements of the first definition, without its head."""
    return [line.strip() for line in parsed["parsed"].text.split("\n\n")[0].split("\n")[1:]]


def last(parsed):
    return parsed["parsed"].root.nodes[-1]


@pytest.mark.parametrize(
    ("expression", "row"),
    [
        ("x + x", "add %0 %1 : Field[[I], float64]"),
        ("x - y", "sub %0 %1 : Field[[I, J], float64]"),
        ("x * 2.0", "mul %0 %1 : Field[[I], float64]"),
        ("s / float32(2.0)", "div %0 %1 : Field[[I], float32]"),
        ("m // n", "floordiv %0 %1 : Field[[I], int32]"),
        ("m % n", "mod %0 %1 : Field[[I], int32]"),
        ("x == y", "eq %0 %1 : Field[[I, J], bool]"),
        ("n != 1", "ne %0 %1 : bool"),
        ("x <= x", "le %0 %1 : Field[[I], bool]"),
        ("n > 1", "gt %0 %1 : bool"),
        ("b & c", "and %0 %1 : Field[[I], bool]"),
        ("b | b", "or %0 %1 : Field[[I], bool]"),
        ("c ^ c", "xor %0 %1 : bool"),
        ("~b", "not %0 : Field[[I], bool]"),
        ("not c", "not %0 : bool"),
        ("-x", "neg %0 : Field[[I], float64]"),
        ("abs(m)", "abs %0 : Field[[I], int32]"),
        ("neg(n)", "neg %0 : int32"),
        ("sqrt(s)", "sqrt %0 : Field[[I], float32]"),
        ("isnan(x)", "isnan %0 : Field[[I], bool]"),
        ("minimum(x, y)", "minimum %0 %1 : Field[[I, J], float64]"),
        ("power(x, x)", "pow %0 %1 : Field[[I], float64]"),
        ("fmod(m, n)", "fmod %0 %1 : Field[[I], int32]"),
        ("astype(x, int32)", "cast %0 : Field[[I], int32]"),
        ("astype(n, float)", "cast %0 : float64"),
        ("astype(t, float32)", "cast %0 : tuple[Field[[I], float32], float32]"),
        ("broadcast(x, (I, J, K))", "broadcast %0 : Field[[I, J, K], float64]"),
        ("broadcast(n, (I,))", "broadcast %0 : Field[[I], int32]"),
        ("where(b, x, y)", "select %0 %1 %2 : Field[[I, J], float64]"),
        ("where(b, 1.0, 2.0)", "select %0 %1 %2 : Field[[I], float64]"),
        (
            "where(b, (x, n), (y, n))",
            "select %0 %5 %6 : tuple[Field[[I, J], float64], Field[[I], int32]]",
        ),
        ("x if c else x", "select %0 %1 %2 : Field[[I], float64]"),
        ("x(I - 2)", "shift %0 I-2 : Field[[I], float64]"),
        ("t[-1]", "element %0[1] : float64"),
        ("(x, n)", "tuple %0 %1 : tuple[Field[[I], float64], int32]"),
        ("(x,)", "tuple %0 : tuple[Field[[I], float64]]"),
        ("()", "tuple : tuple[]"),
    ],
)
def test_an_expression_becomes_its_row(expression, row, parse):
    found = lines(parse(f"{HEADER}    return {expression}"))

    number = len(found) - 2
    assert found[-2:] == [f"%{number}  {row}", f"return %{number}"]


@pytest.mark.parametrize(
    ("written", "text", "type_"),
    [
        ("1", "1", "int32"),
        ("-1", "-1", "int32"),
        ("2147483648", "2147483648", "int64"),
        ("-2147483648", "-2147483648", "int32"),
        ("0.1", "0.1", "float64"),
        ("1e400", "inf", "float64"),
        ("-1e400", "-inf", "float64"),
        ("True", "True", "bool"),
        ("float32(0.1)", "0.1", "float32"),
        ("float32('0.1')", "0.1", "float32"),
        ("-float32(0.1)", "-0.1", "float32"),
        ("int64(3)", "3", "int64"),
        ("int32(3.7)", "3", "int32"),
        ("float64('nan')", "nan", "float64"),
        ("int(3)", "3", "int64"),
        ("float(-1)", "-1.0", "float64"),
        ("bool(1)", "True", "bool"),
        ("np.float32(2)", "2.0", "float32"),
        ("alias(2)", "2.0", "float32"),
        ("C", "2.5", "float64"),
        ("CS[1][0]", "3", "int64"),
        ("Const.PI", "3.5", "float64"),
        ("Const.PI.value", "3.5", "float64"),
        ("Const.TWO", "2.0", "float32"),
        ("Whole.THREE", "3", "int32"),
        ("math.pi", "3.141592653589793", "float64"),
        ("ns.inner.C", "7", "int32"),
        ("(1, 2.0)[1]", "2.0", "float64"),
        ("float32(C)", "2.5", "float32"),
    ],
)
def test_a_number_becomes_a_literal_in_its_canonical_spelling(written, text, type_, parse):
    inner = types.ModuleType("inner")
    inner.C = 7
    outer = types.ModuleType("ns")
    outer.inner = inner

    parsed = parse(
        f"def f():\n    return {written}",
        C=2.5, CS=(1, (np.int64(3),)), Const=Const, Whole=Whole, math=math, ns=outer, alias=np.float32,
    )  # fmt: skip

    (node,) = parsed["parsed"].root.nodes
    assert (node.text, str(node.type)) == (text, type_)


def test_the_exponent_of_a_power_takes_the_dtype_of_the_base(parse):
    assert lines(parse("def f(x: F):\n    return x ** 2")) == [
        "%0  x : Field[[I], float64]",
        "%1  literal 2.0 : float64",
        "%2  pow %0 %1 : Field[[I], float64]",
        "return %2",
    ]
    assert lines(parse("def f(x: F, n: int32):\n    return x ** n"))[2:] == [
        "%2  cast %1 : float64",
        "%3  pow %0 %2 : Field[[I], float64]",
        "return %3",
    ]
    assert lines(parse("def f(n: int32, m: N):\n    return n ** m"))[2:] == [
        "%2  pow %0 %1 : Field[[I], int32]",
        "return %2",
    ]


ROWS = {
    "a cartesian field offset is a shift": ("return x(Ioff[-1])", ["%1  shift %0 I-1 : Field[[I], float64]", "return %1"]),
    "a plus sign adds no row": ("return +x", ["return %0"]),
    "what stands behind a full return is left out": ("return x\n    y = 1\n    return x", ["%1  literal 1 : int32", "%2  x : Field[[I], float64]", "return %0"]),
}  # fmt: skip


@pytest.mark.parametrize(("body", "rows"), ROWS.values(), ids=ROWS)
def test_an_operator_of_a_field_becomes_rows(body, rows, parse):
    found = lines(parse(f"def f(x: F):\n    {body}", Ioff=FieldOffset("Ioff", I, (I,))))

    assert found == ["%0  x : Field[[I], float64]", *rows]


def test_assignments_unpacking_and_branches_become_statements(parse):
    found = lines(
        parse(
            """
            def f(x: F, n: int32) -> F:
                "What it is for."
                a = b = x
                a, *rest, c = (a, b, n, x)
                (d,) = (x,)
                z: float = 1.0
                if n > 1:
                    pass
                elif n > 0:
                    d = c
                    only_here = n
                else:
                    return rest[0]
                return d
            """
        )
    )

    assert [line for line in found if not line.startswith("%")] == [
        "a = %0", "b = %0", "a, *rest, c = %5", "d, = %7", "z = %8",
        "if %11:", "else:",
        "if %14:", "d = %15", "only_here = %16", "else:", "return %18",
        "return %19",
    ]  # fmt: skip


def test_a_branch_that_returns_takes_no_part_in_the_names_afterwards(parse):
    text = (
        "def f(x: F, c: bool):\n    if c:\n        return x\n    else:\n        z = x\n    return z"
    )

    assert last(parse(text)).id == "z"


def test_the_type_of_a_name_may_change(parse):
    assert str(parse("def f(x: F):\n    x = 1\n    return x")["parsed"].root.result) == "int32"


def test_a_scalar_becomes_a_field_without_dimensions_where_one_is_expected(parse, operator):
    g = operator("def g(a: Zero, x: F):\n    return a * x")

    found = lines(parse("def f(x: F):\n    return g(1.0, x)", g=g))

    assert "%2  broadcast %1 : Field[[], float64]" in found


def test_a_function_may_have_no_parameters(parse):
    assert str(parse("def f():\n    return 1.0")["parsed"].root.result) == "float64"


def test_spans_stand_row_by_row(parse):
    outputs = parse("def f(x: F):\n    return x(I + 1) * 2.0")

    columns = [(span.column, span.end_column) for span in outputs["spans"].nodes]
    assert columns == [(12, 13), (12, 20), (23, 26), (12, 26)]
    assert outputs["spans"].definition.line == 1


def test_two_thousand_terms_and_branches_are_nothing_special(parse):
    terms = parse("def f(x: F):\n    return " + " + ".join(["x"] * 2000))
    branches = "".join(f"    elif n == {i}:\n        z = {i}\n" for i in range(900))
    chain = parse(
        f"def f(n: int32):\n    if n < 0:\n        z = 1\n{branches}"
        "    else:\n        z = 0\n    return z"
    )

    assert len(terms["parsed"].root.nodes) == 3999
    assert chain["parsed"].text.count("else:") == 901
    assert type(chain["parsed"]).from_files(chain["parsed"].files()).text == chain["parsed"].text
