import sys
from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.runtime.process.errors import (
    ArgumentError,
    DomainError,
    DSLTypeError,
    MissingAttributeError,
)

from ..dimensions import I, K
from .executions import agree

Columns = Field[Dims[I, K], float64]


class Water(NamedTuple):
    rain: Columns
    snow: Columns


class WaterAtPoint(NamedTuple):
    rain: float64
    snow: float64


class OtherAtPoint(NamedTuple):
    rain: float64
    ice: float64


@ff.scan_operator(axis=K, forward=True, init=WaterAtPoint(0.0, 1.0), backend=None)
def fall(state: WaterAtPoint, water: WaterAtPoint, rate: float64) -> WaterAtPoint:
    return WaterAtPoint(rain=state.rain + water.rain * rate, snow=state.snow - water.snow)


@pytest.mark.needs_compiler
def test_scan_takes_a_collection_of_fields_for_one_of_scalars():
    """The two are different classes, because one has fields and the other numbers."""

    @ff.field_operator(backend=None)
    def settled(water: Water, rate: float64) -> tuple[Columns, Columns]:
        fallen = fall(water, rate)
        return fallen.rain, fallen.snow + water.snow

    @ff.program(backend=None)
    def run(water: Water, rate: float64, rain: Columns, snow: Columns):
        settled(water, rate, out=(rain, snow))

    def arguments():
        rain = ff.as_field([I, K], np.arange(8.0).reshape(2, 4))
        snow = ff.as_field([I, K], np.arange(8.0).reshape(2, 4) ** 2)
        out = {name: ff.zeros({I: 2, K: 4}) for name in ("rain", "snow")}
        return {"water": Water(rain, snow), "rate": 0.5, **out}

    meant = agree(run, arguments)

    assert meant["rain"].tolist() == [[0.0, 0.5, 1.5, 3.0], [2.0, 4.5, 7.5, 11.0]]


def test_scan_refuses_a_collection_with_other_names():
    @ff.scan_operator(axis=K, forward=True, init=0.0, backend=None)
    def total(state: float64, water: OtherAtPoint) -> float64:
        return state + water.ice

    with pytest.raises(DSLTypeError, match="Invalid call to 'total'"):

        @ff.field_operator(backend=None)
        def settled(water: Water) -> Columns:
            return total(water)


def test_program_that_writes_a_scalar_is_refused_where_it_is_built_or_run():
    """It can be defined, because models have such definitions in modules of useful ones."""

    @ff.field_operator(backend=None)
    def double(a: float64) -> float64:
        return a + a

    @ff.program(backend=None)
    def run(a: float64, out: float64):
        double(a, out=out)

    with pytest.raises(DomainError, match="'out' is a scalar"):
        run.with_backend(ff.reference).build()
    with pytest.raises(ArgumentError, match=r"to be of type 'Field\[\[\], float64\]'"):
        run(1.0, 2.0)


# --- constants --------------------------------------------------------------------------------


class Rates(NamedTuple):
    fall: ff.float32
    count: ff.int64


class Scheme(NamedTuple):
    rates: Rates
    limit: float


SCHEME = Scheme(Rates(0.5, 3), 2.0)
BIG = 2**31
MODULE = sys.modules[__name__]
Singles = Field[Dims[I], ff.float32]


@ff.field_operator(backend=None)
def rated(a: Singles, rates: Rates) -> tuple[Singles, Field[Dims[I], ff.int64]]:
    return a * rates.fall, ff.broadcast(rates.count * BIG, (I,))


@pytest.mark.needs_compiler
def test_constants_of_a_collection_have_the_types_of_its_class():
    local = Rates(0.1, 7)

    @ff.field_operator(backend=None)
    def scaled(a: Singles) -> tuple[Singles, Field[Dims[I], ff.int64]]:
        rates = MODULE.SCHEME.rates
        first, count = rated(a, SCHEME.rates)
        second, _ = rated(a, Rates(fall=local[0], count=local.count))
        factor = rates.fall * local.fall * local.fall
        return first + second * factor, count + SCHEME[0].count * BIG

    @ff.program(backend=None)
    def run(a: Singles, out: Singles, count: Field[Dims[I], ff.int64]):
        scaled(a, out=(out, count))

    given = {
        "a": ff.as_field([I], np.linspace(0.0, 1.0, 5, dtype=np.float32)),
        "out": ff.zeros({I: 5}, ff.float32),
        "count": ff.zeros({I: 5}, ff.int64),
    }

    meant = agree(run, given)

    assert meant["count"].tolist() == [6 * BIG] * 5


def test_constants_that_do_not_fit_their_class_are_refused():
    wrong = Rates(1, 2.5)

    with pytest.raises(DSLTypeError, match="Unexpected object 'wrong' of type 'Rates'"):

        @ff.field_operator(backend=None)
        def scaled(a: Singles) -> Singles:
            return a * wrong.fall


def test_a_constant_of_a_collection_names_what_it_has():
    with pytest.raises(MissingAttributeError, match="'Scheme'"):

        @ff.field_operator(backend=None)
        def scaled(a: Singles) -> Singles:
            return a * SCHEME.rate
