"""A program to measure: its calls, a hand-written kernel, NumPy, and the bytes that must move."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
import numpy as np


@attrs.frozen(kw_only=True, eq=False)
class Case:
    """`arguments` are those of the program by name, fields allocated for the CPU backend.

    `tables` is the offset provider. `by_hand` maps a variant's name to a call that runs the kernel
    and gives the outputs in the language's order of dimensions, as views; `in_numpy` computes
    the outputs from NumPy arrays. `moved` is the bytes that must move at least, `operations` the
    floating-point operations of one call.
    """

    name: str
    size: str
    dtype: str
    program: object  # an ff.program without backend
    arguments: Mapping[str, object]
    tables: Mapping[str, object]
    outputs: tuple[str, ...]  # names of the fields that are written
    by_hand: Mapping[str, Callable[[], Mapping[str, np.ndarray]]]
    in_numpy: Callable[[], Mapping[str, np.ndarray]]
    moved: int
    operations: int
    same_bits: bool = True  # the hand-written arithmetic is the program's own
