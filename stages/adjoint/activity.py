"""Activity: which rows vary with some inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ...runtime.language import FLOATS
from ..ir.dataflow import Body, Input, Map, Ref, Result, Scalar, Scan, Value
from .rows import derivative_of

Leaves: TypeAlias = dict[Ref, frozenset[int]]  # of scans: the leaves of the state that vary


def active_rows(values: Sequence[Value], wrt: frozenset[str]) -> tuple[frozenset[Ref], Leaves]:
    """Return the rows of floats that vary with some fields, and the active leaves of scans."""
    found: set[Ref] = set()
    leaves: Leaves = {}
    for row, value in enumerate(values):
        match value:
            case Input() | Scalar():
                is_active = value.name in wrt
            case Scan():
                args = frozenset(i for i, arg in enumerate(value.args) if arg in found)
                first = frozenset(i for i, init in enumerate(value.init) if init in found)
                leaves[row] = active_state(value.body, first, args)
                is_active = bool(leaves[row])
            case Result():
                is_active = value.index in leaves[value.scan]
            case _:
                is_active = _varies(value, found)
        if is_active and (value.dtype in FLOATS or isinstance(value, Scan)):
            found.add(row)
    return frozenset(found), leaves


def active_state(body: Body, first: frozenset[int], args: frozenset[int]) -> frozenset[int]:
    """Return the leaves of a state that vary, from those of the first state and arguments."""
    state = first
    while True:
        rows = active_in_body(body, state, args)
        more = frozenset(i for i, row in enumerate(body.results) if row in rows) | state
        if more == state:
            return state
        state = more


def active_in_body(body: Body, state: frozenset[int], args: frozenset[int]) -> frozenset[Ref]:
    """Return the rows of a body that vary with some leaves of the state and some arguments."""
    names = {f"s{index}" for index in state} | {f"a{index}" for index in args}
    found: set[Ref] = set()
    for row, value in enumerate(body.values):
        is_active = value.name in names if isinstance(value, Scalar) else _varies(value, found)
        if is_active and value.dtype in FLOATS:
            found.add(row)
    return frozenset(found)


def _varies(value: Value, found: set[Ref]) -> bool:
    if not isinstance(value, Map):
        return any(arg in found for arg in value.operands)
    active = [place for place, arg in enumerate(value.args) if arg in found]
    return any(derivative_of(value).varies_with(place) for place in active)
