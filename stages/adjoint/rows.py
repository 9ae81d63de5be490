"""The arithmetic of derivatives on rows of the dataflow IR."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...runtime.language import FLOATS, union_of
from ...runtime.language.derivatives import RECIPROCAL, Derivative
from ...runtime.language.operations import BY_NAME
from ...runtime.process import DerivativeError, classes
from ..ir.dataflow import Literal, Map, Ref, Value
from ..ir.literal import spell
from ..lower.fold_constants import folded
from ..lower.graph import Graph


@classes.frozen(eq=False)
class Rows:
    """Computes with the rows of a graph, and folds what is known."""

    graph: Graph

    def apply(self, op: str, *operands: Ref) -> Ref:
        """Compute an operation of the table."""
        dims = union_of(self.graph[each].dims for each in operands)
        gives_bool = BY_NAME[op].gives == "bool"
        dtype = "bool" if gives_bool else self.graph[operands[-1]].dtype
        return folded(self.graph, Map(op=op, args=operands, dims=dims, dtype=dtype))

    def number(self, value: float, like: Ref) -> Ref:
        """Return a literal in the dtype of a row."""
        return self.literal(value, self.graph[like].dtype)

    def literal(self, value: float, dtype: str) -> Ref:
        """Return a literal."""
        return self.graph.literal(dtype, spell(np.dtype(dtype).type(value)))

    def converted(self, value: Ref, like: Ref) -> Ref:
        """Return a row in the dtype of another."""
        return self.cast(value, self.graph[like].dtype)

    def cast(self, value: Ref, dtype: str) -> Ref:
        """Return a row in a dtype."""
        if self.graph[value].dtype == dtype:
            return value
        return self.graph.map("cast", (value,), dtype)

    def is_single(self, value: Ref) -> bool:
        """Tell whether a row is of float32."""
        return self.graph[value].dtype == "float32"

    def sum(self, rows: Sequence[Ref]) -> Ref:
        """Add rows from left to right."""
        total = rows[0]
        for each in rows[1:]:
            total = self.apply("add", total, each)
        return total


def derivative_of(value: Map, values: Sequence[Value] = ()) -> Derivative:
    """Return the derivative of an operation; one that is not there yet is an error.

    Among the rows `values` it may have a shorter form.
    """
    if values and is_reciprocal(value, values):
        return RECIPROCAL
    found = BY_NAME[value.op].derivative
    if found is None:
        raise DerivativeError.of(value.op)
    return found


def is_reciprocal(value: Value, values: Sequence[Value]) -> bool:
    """Tell whether a value, among others, is 1 over another one."""
    if not isinstance(value, Map) or value.op != "div":
        return False
    first = values[value.args[0]]
    return isinstance(first, Literal) and float(first.text) == 1.0


def is_float(value: Value) -> bool:
    """Tell whether a value is of a dtype that has derivatives."""
    return value.dtype in FLOATS
