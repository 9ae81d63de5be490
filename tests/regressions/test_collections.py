from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.runtime.process.errors import ArgumentError, DomainError, DSLTypeError

from .executions import agree

I = ff.Dimension("I")
K = ff.Dimension("K", ff.DimensionKind.VERTICAL)

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
