"""A long source is cut into translation units; the numbers stay, and so do small sources."""

import re

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, exp, float64, log, where
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.codegen.cpu.text import units
from fieldforge.stages.codegen.cpu.text.units import Caller, Known, Part, used, write_units
from fieldforge.stages.units import count_units

from .....dimensions import I, J, K
from ...programs import TARGET, laplacians

Volume = Field[Dims[I, J, K], float64]
SIGNATURE = "HIDDEN void f({}) {{"
PARAMETERS = (("const s64* ", "ints"),)


@ff.scan_operator(axis=K, forward=True, init=0.0)
def falling(above: float64, rate: float64, amount: float64) -> float64:
    return above * exp(-rate) + amount


@ff.field_operator
def moist(t: Volume, q: Volume) -> tuple[Volume, Volume]:
    total = falling(q, t)
    grown = log(t + 1.0) * (total(I - 1) + total(I + 1))
    return where(t > 0.5, grown, total), total(J + 1) - total


@ff.program(backend=ff.cpu)
def columns(t: Volume, q: Volume, a: Volume, b: Volume, first: Volume):
    falling(t, q, out=first)
    moist(t, q, out=(a, b))


def cut_everything(monkeypatch):
    for name, value in {"CUT_FROM": 0, "UNIT": 20, "LEAST": 1, "LARGEST": 2.0}.items():
        monkeypatch.setattr(units, name, value)


def results(backend):
    random = np.random.default_rng(3)
    t, q = (
        ff.as_field({I: (-1, 13), J: (0, 12), K: 7}, random.random((14, 12, 7)), allocator=ff.cpu)
        for _ in range(2)
    )
    out = [ff.zeros({I: 12, J: (0, 11), K: 7}, allocator=ff.cpu) for _ in range(3)]
    with ff.using(ff.Engine()):
        columns.with_backend(backend)(t, q, *out)
        text = columns.with_backend(backend).trace(t, q, *out, until="codegen")["codegen"].text
    return text, [each.asnumpy() for each in out]


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    "options", [{}, {"parallel_from": 1}, {"checked": True}, {"numerics": "strict"}]
)
def test_cut_and_whole_sources_give_the_same_bits(monkeypatch, options):
    backend = ff.cpu.with_options(**options)
    whole, expected = results(backend)
    cut_everything(monkeypatch)
    text, found = results(backend)

    assert count_units(whole) == 1
    assert count_units(text) > 2
    for each, known in zip(found, expected, strict=True):
        np.testing.assert_array_equal(each, known)


def test_each_unit_has_functions_of_similar_size():
    parts = [Part(f"nest{n}", (*[f"    a = {n};"] * (400 + 100 * n), "  }")) for n in range(12)]
    lines = tuple(line for part in parts for line in ("  {", part))
    text = write_units([], Caller((SIGNATURE,), (), lines, ("}",), PARAMETERS))
    loads = [block.count("    a = ") for block in "\n".join(text).split("#if IN(")[1:-1]]

    assert count_units("\n".join(text)) == len(loads) + 1 == 9
    assert loads == sorted(loads, reverse=True)
    assert sum(loads) == sum(400 + 100 * n for n in range(12))
    assert max(loads) < 1.5 * min(loads)


def test_a_source_where_one_nest_dominates_stays_whole():
    parts = [Part(f"nest{n}", ("    a = 1;",) * size) for n, size in enumerate((9000, 300, 300))]
    text = write_units([], Caller((SIGNATURE,), (), tuple(parts), ("}",), PARAMETERS))
    assert count_units("\n".join(text)) == 1


def test_a_function_has_the_definitions_that_it_uses():
    known = [
        Known("n0", "  const s64 n0 = ints[0];"),
        Known("n1", "  const s64 n1 = ints[1];"),
        Known("p0", "  f64* const p0 = q + n1;", frozenset({"n1"})),
    ]
    assert used(known, {"p0"}) == known[1:]


def test_no_example_is_cut():
    # the text of a small program, and so its library, does not depend on this module
    source = (
        Codegen(target=TARGET).run(lowered=laplacians(7), variant=Variant())["generated"].source
    )
    assert not re.search(r"\bUNIT\b|HIDDEN", source)
