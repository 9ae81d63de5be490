"""Canonical bytes of IR values: a JSON table of tagged rows, shared parts once, no recursion.

Row i is what remains of a value when its parts are replaced by references to
earlier rows: `["i", 3]`, `["f", "0x1.8p+1"]`, `["s", "u"]`, `["t", [0, 2]]` (a tuple), `["d", name, kind]`
(a dimension) or `["Map", [4, 1, 7]]` (an attrs class of the IRs, fields in order).
The last row is the value. Equal values have equal bytes.
"""

from __future__ import annotations

import json
from typing import Any

import attrs

from ...runtime import plan, source, types
from ...runtime.dimension import Dimension
from . import bounds, dataflow, syntax


def _classes() -> dict[str, type]:
    found: dict[str, type] = {}
    for module in (types, source, plan, bounds, syntax, dataflow):
        stem = module.__name__.rpartition(".")[2]
        for name, member in sorted(vars(module).items()):
            if attrs.has(member) and member.__module__ == module.__name__:
                found[f"{stem}.{name}"] = member
    return found


CLASSES = _classes()
TAGS = {member: tag for tag, member in CLASSES.items()}


def register(member: type) -> type:
    """Let a frozen attrs class take part; for IRs that are defined outside `stages/ir`."""
    tag = f"{member.__module__.rpartition('.')[2]}.{member.__name__}"
    CLASSES[tag] = member
    TAGS[member] = tag
    return member
