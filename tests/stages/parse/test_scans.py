"""Scan operators: their rules, their trees, and calls of them."""

# ruff: noqa: E501 - tables of snippets and messages
from typing import NamedTuple

import numpy as np
import pytest

from fieldforge.runtime.language.definition import ScanOptions
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.process.errors import DSLTypeError
from fieldforge.stages.artifacts import Parsed

K = Dimension("K", DimensionKind.VERTICAL)


class Column(NamedTuple):
    mass: float
    seen: tuple[bool, np.int32]


def test_a_scan_says_how_it_walks(define, parse):
    parsed = parse(
        "def f(s: tuple[float64, int32], x: float64):\n    return s[0] + x, s[1] + 1",
        "scan_operator", options=ScanOptions(K, False, (np.float64("0.5"), 3)),
    )["parsed"]  # fmt: skip

    head, walk, *_ = parsed.text.split("\n")
    assert head == ("scan f(s: tuple[float64, int32], x: float64) -> tuple[float64, int32]")
    assert walk == "  along K backward from 0.5, 3"
    assert Parsed.from_files(parsed.files()) == parsed


SCAN = "def scan(s: float, x: float):\n    return s + x"
OPTIONS = [
    (SCAN, {"axis": Dimension("I")}, "Argument 'axis' to scan operator 'scan' must be a vertical dimension."),
    (SCAN, {"axis": None}, "Argument 'axis' to scan operator 'scan' must be a vertical dimension."),
    (SCAN, {"forward": 1}, "Argument 'forward' to scan operator 'scan' must be a boolean."),
    (SCAN, {"init": 0}, "Argument 'init' to scan operator 'scan' must have same type as 's' argument: expected 'float64', got 'int32'."),
    (SCAN, {"init": (0.0,)}, "Argument 'init' to scan operator 'scan' must have same type as 's' argument: expected 'float64', got 'tuple[float64]'."),
    (SCAN, {"init": "zero"}, "Argument 'init' to scan operator 'scan' must have same type as 's' argument: expected 'float64', got 'str'."),
    ("def scan():\n    return 0.0", {}, "Scan operator 'scan' must have at least one argument (the carry)."),
    ("def scan(s: float):\n    return 1", {}, "Argument 's' to scan operator 'scan' must have same type as its return: expected 'int32', got 'float64'."),
    ("def scan(s: float, x: FK):\n    return s", {}, "Argument 'x' to scan operator 'scan' must be a scalar or a tuple of scalars, got 'Field[[K], float64]'."),
    ("def scan(s: float):\n    y = broadcast(s, (K,))\n    return s", {}, "The body of scan operator 'scan' works on scalars, got 'Field[[K], float64]'."),
    ("def scan(s: float):\n    y = K < 2\n    return s", {}, "The body of scan operator 'scan' works on scalars, got 'Domain[K]'."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options", "message"), OPTIONS, ids=[row[2][:60] for row in OPTIONS]
)
def test_wrong_scans_are_refused(text, options, message, refused):
    given = ScanOptions(**{"axis": K, "forward": True, "init": 0.0, **options})

    error, _ = refused(text, "scan_operator", options=given)

    assert type(error) is DSLTypeError
    assert error.message == message


CALLS = [
    ("scan(n)", "n", ("Expected argument 'x' to be of type 'float64', got 'int32'.",)),
    ("scan(m)", "m", ("Expected argument 'x' to be of type 'float64', got 'Field[[K], int32]'.",)),
    ("scan((k, k))", "(k, k)", ("Expected argument 'x' to be of type 'float64', got 'tuple[Field[[K], float64], Field[[K], float64]]'.",)),
    ("scan(s=1.0, x=k)", "s=1.0", ("Got an unexpected keyword argument 's'.",)),
    ("scan()", "scan()", ("Missing 1 required arguments: 'x'.",)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "notes"), CALLS, ids=[row[0] for row in CALLS])
def test_wrong_calls_are_refused(text, place, notes, scan, refused):
    error, under = refused(f"def f(k: FK, m: NK, n: int32):\n    return {text}", scan=scan(SCAN))

    assert error.message == "Invalid call to 'scan'."
    assert error.notes == notes
    assert under == place


def test_neighbours_are_reduced_before_a_scan(scan, refused):
    error, _ = refused("def f(w: Coeff):\n    return scan(w)", scan=scan(SCAN))

    assert error.message.startswith("No column along 'K' can have the dimensions of all arguments")


def test_a_scan_calls_no_scan(scan, refused):
    error, under = refused(
        "def outer(s: float, x: float):\n    return inner(x)", "scan_operator",
        options=ScanOptions(K, True, 0.0), inner=scan(SCAN),
    )  # fmt: skip

    assert error.message == "Scan operator 'scan' can not be called in another scan."
    assert under == "inner"


def test_scans_of_one_program_share_an_axis(scan, operator, refused):
    other = Dimension("L", DimensionKind.VERTICAL)
    up = operator("def up(k: FK):\n    return scan(k)", scan=scan(SCAN))

    error, _ = refused(
        "def f(k: FK):\n    return up(k) + down(k)", up=up, down=scan(SCAN, axis=other)
    )

    assert isinstance(error, TypeError)
    assert error.message == "The scans that 'f' reaches walk along different axes: 'K', 'L'."
