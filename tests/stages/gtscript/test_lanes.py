"""Columns side by side in lanes give the bits of the interpreter: whole strips, and rests."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fieldforge.stages import CpuTarget, Variant
from fieldforge.stages.gtscript.axes import AXES, I, K
from fieldforge.stages.interpret.stage import Entry

from ...generated.building import Schedule, compiled, written
from .cases import arrays_of, case_of, difference
from .column_examples import COLUMNS
from .corpus.every import CORPUS
from .models import EXAMPLES
from .stencils import definition_of, made

FUNCTIONS = ("exp(", "log(", "sin(", "**")  # compiled functions err by units in the last place
LEAST = 70  # columns: a block, whole strips of the next one, and a rest


def wide(case, found, axis=I):
    """Return the arrays of a case many times side by side, an axis contiguous, and the domain."""
    place = [*AXES.values()].index(axis)
    often = -(-LEAST // case["domain"][place])
    leaves = {each.name.split(".")[0]: each for each in found.lowered.program.leaves}
    arrays = {}
    for name, array in arrays_of(case).items():
        dims = leaves[name].dims if name in leaves else ()
        times = [often if dim is axis else 1 for dim in dims or ()]
        times += [1] * (array.ndim - len(times))
        tiled = np.tile(array, times)
        arrays[name] = np.asfortranarray(tiled) if axis is I else contiguous(tiled, len(dims))
    domain = [*case["domain"]]
    domain[place] *= often
    return arrays, tuple(domain)


def contiguous(array, axes):
    """Return an array of which each element of data axes has its last axis contiguous."""
    order = (*range(axes, array.ndim), *range(axes))
    made = np.ascontiguousarray(array.transpose(order))
    return made.transpose(np.argsort(order))


def call(case, found, program, axis=I):
    """Run a program on wide arrays; return them."""
    arrays, domain = wide(case, found, axis)
    numbers = {name: value for name, (_, value) in case["scalars"].items()}
    arguments = found.arguments({**arrays, **numbers}, case["origin"], domain)
    with np.errstate(all="ignore"):
        program(*arguments)
    return arrays


def in_lanes(case, axis=I):
    """Return a stencil and its C++ for arrays where an axis has unit stride."""
    found = made(definition_of(case["text"]))
    fields = [each for each in found.lowered.program.leaves if each.kind == "field"]
    unit = tuple((each.name, axis.value) for each in fields if axis in each.dims)
    variant = Variant(unit=unit)
    return found, written(found.lowered, variant, Schedule(parallel_from=1), CpuTarget.host())


@pytest.mark.parametrize("axis", [I, K])
def test_columns_in_lanes_give_the_bits_of_the_interpreter(axis):
    cases = {**{name: EXAMPLES[name] for name in COLUMNS}, **CORPUS}
    made_ = {name: in_lanes(case, axis) for name, case in cases.items()}
    chosen = {name: each for name, each in made_.items() if "const auto part" in each[1].source}
    assert len(chosen) > {I: 20, K: 4}[axis]
    programs = compiled([source for _, source in chosen.values()], "-O3")

    for program, (name, (found, _)) in zip(programs, chosen.items(), strict=True):
        case = cases[name]
        meant = call(case, found, Entry(found.lowered), axis)
        given = call(case, found, program, axis)
        calls = any(each in case["text"] for each in FUNCTIONS)
        for field in meant:
            if calls and meant[field].dtype.kind == "f":
                np.testing.assert_allclose(given[field], meant[field], rtol=1e-9, err_msg=name)
            else:
                assert difference(meant[field], given[field], 0) == "", (name, field)


def test_conditions_hold_where_columns_come_one_by_one():
    text = """
def s(a: Field[float], b: Field[float], n: Field[IJ, np.int64], p: Field[IJ, float]):
    with computation(FORWARD), interval(0, -1):
        if p > 0.5:
            b = a.at(K=n) - a[0, 0, n] + b[0, 0, n]
            n += 1
            b[0, 0, 1] = a
"""
    random = np.random.default_rng(7)
    fields = {"a": random.random((LEAST, 2, 5)), "b": random.random((LEAST, 2, 5))}
    planes = {"n": random.integers(0, 3, (LEAST, 2)), "p": random.random((LEAST, 2))}
    case = case_of(text, {**fields, **planes}, (LEAST, 2, 5))
    found, source = in_lanes(case)
    (program,) = compiled([source], "-O1")

    meant, given = call(case, found, Entry(found.lowered)), call(case, found, program)

    assert "for (s64 b = first; b < last; ++b)" in source.source
    for field in meant:
        assert difference(meant[field], given[field], 0) == "", field


@pytest.mark.parametrize(("order", "later"), [("FORWARD", "i2 + 3"), ("BACKWARD", "i2 - 3")])
def test_columns_one_by_one_prefetch_rows_of_a_later_level(order, later):
    text = f"""
def s(a: Field[np.float32], b: Field[float], n: Field[IJ, np.int64]):
    with computation({order}), interval(1, -1):
        m = 0
        while m < 1:
            b = a[0, 0, n] + b[0, 0, -1]
            n += 1
            m += 1
"""
    given = {"a": np.zeros((8, 2, 5), np.float32), "b": np.zeros((8, 2, 5))}
    case = case_of(text, {**given, "n": np.zeros((8, 2), np.int64)}, (8, 2, 5))
    _, source = in_lanes(case)

    lines = [line.strip() for line in source.source.splitlines()]
    place = lines.index("for (s64 b = first; b < last; b += 8) {")
    across, levels = r"(\(n\d+ - 0\) \* ){2}", r"\(\(n\d+ - 1\) - 1\)"
    assert re.fullmatch(rf"if \({across}{levels} \* 12 >= held\)", lines[place - 1])
    assert [re.sub(r"\b([nr])\d+", r"\1", line) for line in lines[place + 1 : place + 4]] == [
        f"__builtin_prefetch(&r[b + (({later}) - 1) * n]);",
        f"__builtin_prefetch(&r[b + ({later}) * n]);",
        "}",
    ]


def test_threads_share_columns_by_the_points_of_all_sweeps():
    text = """
def s(a: Field[float], b: Field[float], n: Field[IJ, np.int64]):
    with computation(FORWARD), interval(0, 2):
        while n < 3:
            b = b[0, 0, 0] + a[0, 0, n]
            n += 1
    with computation(BACKWARD), interval(2, None):
        while n < 5:
            b = b[0, 0, -1] + a
            n += 1
"""
    given = {"a": np.zeros((8, 2, 5)), "b": np.zeros((8, 2, 5)), "n": np.zeros((8, 2), np.int64)}
    _, source = in_lanes(case_of(text, given, (8, 2, 5)))

    across = r"share\(context, m0 \* m1, 65536, \(n\d+ - 0\) \* \(n\d+ - 0\)"
    levels = re.findall(rf"{across} \* \(([^)]*)\), 1, ", source.source)
    assert [re.sub(r"n\d+", "n", each) for each in levels] == ["n - 0 + 2 - 0 + 2 - 0", "n - 2"]


@pytest.mark.parametrize("levels", [(5, 0), (9, 2)], ids=["alike", "of their own"])
def test_each_field_has_levels_of_its_own(levels):
    text = """
def s(a: Field[float], b: Field[float], c: Field[float], n: Field[IJ, np.int64]):
    with computation(FORWARD), interval(...):
        m = 0
        while m < 1:
            b = a[0, 0, n] - 10.0 * a[0, 0, n + 1]
            b += 100.0 * c.at(K=n) + 1000.0 * c.at(K=n - 2)
            n += 1
            m += 1
"""
    high, below = levels
    random = np.random.default_rng(8)
    given = {
        "a": np.broadcast_to(np.arange(float(high)), (LEAST, 2, high)),
        "b": np.zeros((LEAST, 2, 5)),
        "c": np.broadcast_to(np.arange(5.0), (LEAST, 2, 5)),
        "n": random.integers(-8, 9, (LEAST, 2)),
    }
    case = case_of(text, given, (LEAST, 2, 5), {"a": (0, 0, below)})
    found, source = in_lanes(case)
    unit = tuple((name, "I") for name in given)
    gpu = written(found.lowered, Variant(unit=unit), Schedule(backend="gpu-host"), CpuTarget.host())
    programs = [Entry(found.lowered), *compiled([source], "-O2"), *compiled([gpu], "-O2")]

    results = [call(case, found, program)["b"] for program in programs]

    level = given["n"][..., None] + np.arange(5)
    a, above = (np.clip(np.arange(5) + level + k + below, 0, high - 1) for k in (0, 1))
    c, before = (np.clip(level - k, 0, 4) for k in (0, 2))
    assert "for (s64 b = first; b < last; ++b)" in source.source
    for result in results:
        np.testing.assert_array_equal(result, a - 10.0 * above + 100.0 * c + 1000.0 * before)


SEARCH = """
def s(a: Field[float], b: Field[float], n: Field[IJ, np.int64]):
    with computation(FORWARD), interval(0, -1):
        {first}
        while a[0, 0, n + 1] < 3.0:
            b = b + a[0, 0, n]
            n += 1
        b = b + a[0, 0, n]
        n -= 1
"""
# Tests that leave the usual code: that in the condition also holds for what follows the loop.
FIRST = {"b = b": ["return false"], "b[0, 0, 1] = b[0, 0, 1] + b": ["", ""]}


@pytest.mark.parametrize("first", FIRST)
def test_a_search_begins_anew_outside_of_levels_if_it_has_changed_nothing(first):
    random = np.random.default_rng(9)
    given = {
        "a": np.broadcast_to(np.arange(5.0), (LEAST, 2, 5)),
        "b": random.random((LEAST, 2, 5)),
        "n": random.integers(-4, 5, (LEAST, 2)),
    }
    case = case_of(SEARCH.format(first=first), given, (LEAST, 2, 5))
    found, source = in_lanes(case)
    (program,) = compiled([source], "-O2")

    meant, result = call(case, found, Entry(found.lowered)), call(case, found, program)

    tests = re.findall(r"outside\([^,]*, \d, most\)\)\) (return false)?", source.source)
    assert tests == FIRST[first]
    for field in meant:
        assert difference(meant[field], result[field], 0) == "", field
