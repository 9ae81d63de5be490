"""Give numbers to the boxes of a program's statements, from some arguments of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...runtime.decomposition.cuts import ENDLESS, Box
from ...runtime.fields import first
from ...runtime.language import leaves_of
from ...runtime.process import ArgumentError
from ...stages.ir.loops import (
    Const,
    DomainSymbol,
    PatchBound,
    Ranges,
    ScalarSymbol,
    Stride,
    Symbol,
    TableBound,
    evaluate,
    parts,
)
from ...stages.lower.boxes.footprints import symbols_of
from .naming import leaf_name

ENDS: Final = ("lowest", "beyond")


class Numbers:
    """The numbers of a call, as far as they are known.

    Args:
        program: its name, for messages.
        given: arguments by name.
        provider: neighbour tables.

    """

    def __init__(self, program: str, given: Mapping[str, Any], provider: Mapping[str, Any]) -> None:
        self._program, self._provider = program, provider
        self._leaves = {
            leaf_name(name, path): leaf
            for name, value in given.items()
            for path, leaf in leaves_of(value)
        }
        self._rows: dict[tuple[str, tuple[int, ...]], tuple[NDArray[Any], NDArray[Any]]] = {}

    def box(self, ranges: Ranges) -> Box:
        """Return what a statement computes.

        Raises:
            ArgumentError: an argument that it depends on is not given.

        """
        for each in ranges:
            for symbol in (*parts(each.start), *parts(each.stop)):
                self._check(symbol)
        return self.points(ranges, {})

    def points(self, ranges: Ranges, part: Box) -> Box:
        """Return ranges as numbers, where the symbols of a part stand for `part`.

        A field that is not given is taken to be endless.
        """
        known: dict[Symbol, int] = {
            symbol: end
            for dim, ends in part.items()
            for symbol, end in zip(symbols_of(dim), ends, strict=True)
        }

        def value(symbol: Symbol) -> int:
            return known[symbol] if symbol in known else self._value(symbol)

        return {
            each.dim: (evaluate(each.start, value), evaluate(each.stop, value)) for each in ranges
        }

    def _check(self, symbol: Any) -> None:
        name = getattr(symbol, "field", getattr(symbol, "name", None))
        if isinstance(symbol, DomainSymbol | ScalarSymbol) and name not in self._leaves:
            parameter = str(name).partition(".")[0]
            raise ArgumentError(
                f"What '{self._program}' computes depends on '{parameter}', which 'split' is not "
                "given.",
                hint=f"Call 'split({parameter}=..., ...)'.",
            )

    def _value(self, symbol: Symbol) -> int:
        match symbol:
            case TableBound():
                return self._extreme(symbol)
            case ScalarSymbol():
                self._check(symbol)
                return int(self._leaves[symbol.name])
            case PatchBound() | Stride():
                raise TypeError("Only loops have patches and strides.")
        if symbol.field not in self._leaves:
            return -ENDLESS if symbol.end == "start" else ENDLESS
        range_ = self._leaves[symbol.field].domain[symbol.dim].unit_range
        return first(range_) + (len(range_) if symbol.end == "stop" else 0)

    def _extreme(self, bound: TableBound) -> int:
        """Return the lowest valid entry of some rows, or one past the largest; 0 without any."""
        table = self._provider[bound.table]
        if (bound.table, bound.slots) not in self._rows:
            self._rows[bound.table, bound.slots] = _row_extremes(table, bound.slots)
        assert isinstance(bound.start, Const)  # `evaluate` gives numbers
        assert isinstance(bound.stop, Const)
        start, stop = (max(each.value - table.starts[0], 0) for each in (bound.start, bound.stop))
        lowest, largest = (each[start:stop] for each in self._rows[bound.table, bound.slots])
        if largest.max(initial=-1) < 0:
            return 0
        return int(lowest.min()) if bound.end == "lowest" else int(largest.max()) + 1


def _row_extremes(table: Any, slots: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lowest and the largest valid entry of each row; ENDLESS and -1 without any."""
    entries, valid = table.asnumpy(), table.valid()
    lowest, largest = np.full(len(entries), ENDLESS), np.full(len(entries), -1)
    for slot in slots or range(entries.shape[1]):  # reducing a short axis is slow
        along, is_there = entries[:, slot], valid[:, slot]
        np.minimum(lowest, along, out=lowest, where=is_there)
        np.maximum(largest, along, out=largest, where=is_there)
    return lowest, largest
