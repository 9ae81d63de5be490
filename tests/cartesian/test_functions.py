"""Functions of GTScript, lazy functions, enumerations and lazy stencils."""

from __future__ import annotations

import enum

import numpy as np
import pytest

from fieldforge.cartesian import gtscript
from fieldforge.cartesian.frontend.exceptions import GTScriptSyntaxError
from fieldforge.cartesian.gtscript import PARALLEL, Field, computation, interval
from fieldforge.cartesian.lazy_stencil import LazyStencil

from .stencils import made, value_of

OFFSET = 1.0


@gtscript.function
def lifted(x):
    return x + OFFSET


def through(a: Field[float], b: Field[float]):
    with computation(PARALLEL), interval(...):
        b = lifted(2.0 * a)


def test_functions_bind_their_globals_when_they_are_marked(monkeypatch):
    monkeypatch.setitem(globals(), "OFFSET", 100.0)

    assert value_of(made(through)) == 3.0


def test_lazy_functions_are_bound_at_first_use():
    told = []

    @gtscript.lazy_function(before_annotation=told.append, after_annotation=told.append)
    def doubled(x):
        return 2.0 * x

    def lazily(a: Field[float], b: Field[float]):
        with computation(PARALLEL), interval(...):
            b = doubled(a)

    assert told == []
    assert value_of(made(lazily)) == 2.0
    assert value_of(made(lazily)) == 2.0
    assert len(told) == 2


def test_members_of_enumerations_are_literals():
    @gtscript.enum
    class Phase(enum.IntEnum):
        ICE = 3

    def frozen(a: Field[float], b: Field[float]):
        with computation(PARALLEL), interval(...):
            b = a * Phase.ICE

    assert value_of(made(frozen)) == 3.0


# --- lazy stencils ----------------------------------------------------------------------


def test_lazy_stencils_are_built_when_they_are_used():
    stencil = gtscript.lazy_stencil(backend="numpy", definition=through)

    assert isinstance(stencil, LazyStencil)
    assert stencil.backend.name == "numpy"
    assert "implementation" not in vars(stencil)
    assert value_of(stencil) == 3.0
    assert stencil.implementation is stencil.implementation
    assert list(stencil.field_info) == ["a", "b"]


def test_lazy_stencils_run():
    stencil, b = gtscript.lazy_stencil(definition=through), np.zeros((1, 1, 1))

    stencil.run(a=np.ones((1, 1, 1)), b=b, _domain_=(1, 1, 1), _origin_={}, exec_info=None)

    assert b[0, 0, 0] == 3.0


def test_eager_ones_are_stencils():
    stencil = gtscript.lazy_stencil(backend="debug", eager=True)(through)

    assert isinstance(stencil, gtscript.stencil("debug", through).__class__.__base__)


def wrong(a: Field[float]):
    with computation(PARALLEL), interval(...):
        for _ in range(3):
            a = 1.0


def test_the_text_is_checked_unless_told_otherwise():
    with pytest.raises(GTScriptSyntaxError):
        gtscript.lazy_stencil(backend="numpy", definition=wrong)

    stencil = gtscript.lazy_stencil(backend="numpy", definition=wrong, check_syntax=False)
    with pytest.raises(GTScriptSyntaxError):
        stencil.check_syntax()
    with pytest.raises(GTScriptSyntaxError):
        stencil(np.ones((1, 1, 1)))


def test_lazy_stencils_bind_their_globals_at_once(monkeypatch):
    def by_global(a: Field[float], b: Field[float]):
        with computation(PARALLEL), interval(...):
            b = a + OFFSET

    stencil = gtscript.lazy_stencil(definition=by_global, check_syntax=False)
    monkeypatch.setitem(globals(), "OFFSET", 100.0)

    assert value_of(stencil) == 2.0
