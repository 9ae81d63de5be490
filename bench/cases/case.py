"""A program to measure: how to call it, by hand, in NumPy, and what must move."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
import numpy as np


@attrs.frozen(kw_only=True, eq=False)
class Case:
    """`arguments` are those of the program by name: fields, scalars; `tables` the offset provider.

    `by_hand` maps a variant's name to a call that fills `expected`'s arrays; `in_numpy` computes the outputs from NumPy arrays.
    `moved` is the bytes that must move at least, `operations` the floating-point operations of one call.
    """

    name: str
    size: str
    dtype: str
    program: object  # an ff.program without backend
    arguments: Mapping[
        str, object
    ]  # values for the program's parameters, fields allocated for ff.cpu
    tables: Mapping[str, object]
    outputs: tuple[str, ...]  # names of the fields that are written
    by_hand: Mapping[
        str, Callable[[], Mapping[str, np.ndarray]]
    ]  # runs the kernel, returns outputs in the language's order of dimensions (views, no copies)
    in_numpy: Callable[[], Mapping[str, np.ndarray]]
    moved: int
    operations: int
    same_bits: bool = True  # the hand-written arithmetic is the program's, operation by operation
