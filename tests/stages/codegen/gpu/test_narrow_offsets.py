"""Columns with offsets of 32 bits, and those for other calls: which one runs, with equal bits."""

from __future__ import annotations

import re

import attrs
import numpy as np
import pytest

from fieldforge.stages import CpuTarget, Variant
from fieldforge.stages.codegen.gpu.stage import CodegenGpu
from fieldforge.stages.interpret.stage import Entry
from fieldforge.stages.ir.bounds import DomainSymbol, ScalarSymbol, evaluate
from fieldforge.stages.ir.strides import Stride

from ....generated.building import Schedule, compiled, written
from ...gtscript.stencils import definition_of, made

SEARCH = """
def s(a: Field[float], b: Field[float], c: Field[float], n: Field[IJ, np.int64]):
    with computation(FORWARD), interval(0, -1):
        m = 0
        while m < 2:
            b = b + a[0, 0, n] - 10.0 * c.at(K=n + 1)
            c[0, 0, 1] = b
            n += 1
            m += 1
"""
POINTS = """
def s(a: Field[float], b: Field[float], c: Field[float], n: Field[IJ, np.int64]):
    with computation(PARALLEL), interval(...):
        b = a
        while b < 3.0:
            b += c + n
"""


def kernels(text):
    """Return a stencil, and programs of both its kernels and of each of them alone."""
    found = made(definition_of(text))
    variant = Variant(unit=tuple((name, "I") for name in "abcn"))
    whole = written(found.lowered, variant, Schedule(backend="gpu-host"), CpuTarget.host())
    forms = [whole, *(attrs.evolve(whole, source=idle(whole.source, n)) for n in ("k0", "kn0"))]
    return found, dict(zip(["both", "kn0", "k0"], compiled(forms), strict=True))


def idle(source, name):
    """Return a source in which a kernel does nothing."""
    head = rf"(KERNEL [^\n]* {name}\([^\n]*\{{)"
    assert len(re.findall(head, source)) == 1
    return re.sub(head, r"\1 return;", source)


def arrays(shape, more=0):
    """Return arrays, those of `b` in memory of `more` columns."""
    random, made_ = np.random.default_rng(4), {"n": np.zeros(shape[:2], np.int64, order="F")}
    for name in "abc":
        wide = (shape[0] + more * (name == "b"), *shape[1:])
        made_[name] = np.asfortranarray(random.random(wide))[: shape[0]]
    return made_


@pytest.mark.parametrize(("more", "name"), [(0, "kn0"), (2, "k0")])
def test_calls_with_other_strides_have_the_same_bits(more, name):
    found, programs = kernels(SEARCH)
    shape, origins = (6, 3, 5), {each: (0,) * (2 + (each != "n")) for each in "abcn"}
    other = "k0" if name == "kn0" else "kn0"
    results = {}

    for form, run in {"meant": Entry(found.lowered), **programs}.items():
        given = arrays(shape, more)
        run(*found.arguments(given, origins, shape))
        results[form] = [given["b"].tobytes(), given["c"].tobytes()]

    untouched = arrays(shape, more)
    assert results["both"] == results[name] == results["meant"]
    assert results[other] == [untouched["b"].tobytes(), untouched["c"].tobytes()]


def chosen(text, plane, start, levels):
    """Return which kernels have blocks, for fields of 4 x 4 columns from level `start` on."""
    interface = CodegenGpu(host=True).run(
        lowered=made(definition_of(text)).lowered,
        variant=Variant(unit=tuple((name, "I") for name in "abcn")),
    )["interface"]

    def value(symbol):
        match symbol:
            case Stride(axis=axis):
                return (1, 8, plane)[axis]
            case DomainSymbol(end="start", dim=dim):
                return start if dim.value == "K" else 0
            case ScalarSymbol(name=name) if "K" in name:
                return levels
        return 4

    blocks = (interface.ints[launch.blocks[0]] for launch in interface.launches)
    return [evaluate(each, value) for each in blocks]


@pytest.mark.parametrize(("levels", "is_wide"), [(65535, False), (65536, True)])
def test_more_points_than_blocks_need_several_of_a_thread(levels, is_wide):
    assert chosen(POINTS, 64, 0, levels) == [not is_wide, is_wide]
