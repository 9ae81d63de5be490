"""Conditions on indices, and the choice that `concat_where` makes by them."""

# ruff: noqa: E501 - tables of snippets and messages
import pytest

CONDITIONS = [
    ("K < n", ["inside K lt %0"]),
    ("n < K", ["inside K gt %0"]),
    ("n <= K", ["inside K ge %0"]),
    ("n > K", ["inside K lt %0"]),
    ("n >= K", ["inside K le %0"]),
    ("K >= n", ["inside K ge %0"]),
    ("K == n", ["inside K eq %0"]),
    ("n == K", ["inside K eq %0"]),
    ("K != n", ["inside K ne %0"]),
    ("K < n - 1", ["inside K lt %2"]),
    ("maximum(2, n - 2) <= K", ["inside K ge %4"]),
    ("(1 <= K) & (K < n)", ["inside K ge %0", "inside K lt %2", "and of regions %1 %3"]),
    ("(K == 0) | (K == n)", ["inside K eq %0", "inside K eq %2", "or of regions %1 %3"]),
]


@pytest.mark.parametrize(("text", "expected"), CONDITIONS, ids=[row[0] for row in CONDITIONS])
def test_a_condition_compares_a_dimension(text, expected, rows):
    found = rows(f"def f(x: FK, n: int32):\n    return concat_where({text}, x, 0.0)")

    regions = [line.split("  ")[1].split(" : ")[0] for line in found if "Domain[K]" in line]
    assert regions == expected


def test_a_condition_may_have_a_name(rows):
    found = rows("def f(x: FK):\n    top = K < 2\n    return concat_where(top, x, -x)")

    assert "%2  top : Domain[K]" in found
    assert "top = %1" in found


REFUSED = [
    ("concat_where(b, x, x)", "b", "Expected 0-th argument of 'concat_where' to be a region such as 'K < n', got a value of type 'Field[[K], bool]'."),
    ("concat_where(c, x, x)", "c", "Expected 0-th argument of 'concat_where' to be a region such as 'K < n', got a value of type 'bool'."),
    ("concat_where(K, x, x)", "K", "Expected 0-th argument of 'concat_where' to be a region such as 'K < n', got dimension 'K'."),
    ("concat_where(K < 2.0, x, x)", "2.0", "Expected the bound of a region to be an 'int32' scalar, got 'float64'."),
    ("concat_where(K < m, x, x)", "m", "Expected the bound of a region to be an 'int32' scalar, got 'int64'."),
    ("concat_where(K < x, x, x)", "x", "Expected the bound of a region to be an 'int32' scalar, got 'Field[[K], float64]'."),
    ("concat_where((K < 2) & c, x, x)", "c", "Operator '&' expects two regions, got 'bool'."),
    ("concat_where((K < 2) ^ (K < 3), x, x)", "(K < 2) ^ (K < 3)", "Regions are combined with '&' and '|', not with '^'."),
    ("concat_where(~(K < 2), x, x)", "K < 2", "Operator '~' expects a truth value, got 'Domain[K]'."),
    ("concat_where(0 < K < 2, x, x)", "0 < K < 2", "Comparison chains are not supported."),
    ("concat_where(K < 2, x, 1)", "concat_where(K < 2, x, 1)", "Could not promote 'Field[[K], float64]' and 'int32' to common type in call to 'concat_where'."),
    ("concat_where(K < 2, x, (x, x))", "concat_where(K < 2, x, (x, x))", "Expected 2nd and 3rd argument of 'concat_where' to have the same structure, got 'Field[[K], float64]' and 'tuple[Field[[K], float64], Field[[K], float64]]'."),
    ("concat_where(Kh < 2, x, x)", "concat_where(Kh < 2, x, x)", "Could not promote 'Domain[K_staggered]' and 'Field[[K], float64]' to common type in call to 'concat_where'."),
    ("concat_where(K < I, x, x)", "K < I", "Dimensions have no order."),
    ("where(K < 2, x, x)", "K < 2", "Expected 0-th argument to be a field of type 'bool', got 'Domain[K]'."),
    ("K < 2", "K < 2", "A region can not be returned."),
    ("(K < 2, x)", "(K < 2, x)", "A region can not be an element of a tuple."),
    ("x if K < 2 else x", "K < 2", "Condition for 'ternary' must be scalar, got 'Domain[K]'."),
    ("(K < 2) if c else (K < 3)", "(K < 2) if c else (K < 3)", "A ternary can not choose between regions."),
    ("astype(K < 2, float64)", "K < 2", "Expected 0-th argument to be a scalar, field or tuple, got 'Domain[K]'."),
    ("sqrt(K < 2)", "K < 2", "Expected 0-th argument to be a floating point type, got 'Domain[K]'."),
    ("x + (K < 2)", "(K < 2)", "Operator '+' expects numbers, got 'Domain[K]'."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_no_region_is_refused(text, place, message, refused):
    error, under = refused(
        f"def f(x: FK, b: BK, c: np.bool_, n: int32, m: int64):\n    return {text}"
    )

    assert error.message == message
    assert under.strip("()") == place.strip("()")


def test_regions_are_not_chosen_by_if(refused):
    error, under = refused(
        "def f(x: FK, c: np.bool_):\n"
        "    if c:\n        r = K < 2\n    else:\n        r = K < 3\n"
        "    return concat_where(r, x, x)"
    )

    assert error.message == "Inconsistent types between two branches for variable 'r'."
    assert error.notes == ("Regions can not be chosen by 'if'.",)
    assert under == "r"


def test_dimensions_are_equal_or_not(rows):
    found = rows("def f(x: FK):\n    return x if K == K else -x")

    assert "%3  literal True : bool" in found
