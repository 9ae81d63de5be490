"""Pins: the compiler of another machine, whose key parts a machine without a compiler uses."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import attrs

from ...cache.files import keep_note, read_note
from ...cache.root import PINS, VERSION
from ...cache.sealed import seal, unseal
from ...runtime.process import classes
from ...runtime.process.shapes import (
    anything,
    count,
    list_of,
    mapping,
    number,
    parse_json,
    row,
    table,
    text,
    truth,
)
from ..target import CpuTarget, runs_here

_KIND: Final = "fieldforge-pins-1"
_LIMIT: Final = 1 << 20
_NUMBERS: Final = {"cores": count, "vector_bytes": count, "l2": count, "bandwidth": number}
_PIN: Final = row(
    mapping(text), table((*_NUMBERS, "vector_math"), isa=text, vector_math=truth, **_NUMBERS)
)


@classes.frozen
class Pin:
    """The key parts of compiler and environment, and the target that libraries were built for."""

    labels: tuple[tuple[str, str], ...]
    target: CpuTarget

    def row(self) -> list[Any]:
        """Return the pin as JSON data."""
        return [dict(self.labels), attrs.asdict(self.target)]


def find_pin(places: Iterable[Path]) -> Pin | None:
    """Return the first pin in stores and packs whose instruction set this machine has."""
    pins = (pin for place in places for pin in read_pins(place))
    return next((pin for pin in pins if runs_here(pin.target.isa)), None)


@functools.lru_cache(maxsize=16)
def read_pins(place: Path) -> tuple[Pin, ...]:
    """Return the pins of a store or pack; ignore damaged ones."""
    try:
        if not place.is_file():
            note = read_note(str(place / VERSION / PINS), _LIMIT, None)
            return parse_pins(parse_json(unseal(_KIND, note), list_of(anything)))
    except (OSError, ValueError):
        return ()
    from ...cache.opening import read_secret
    from ...cache.pack import Pack
    from ...runtime.process.settings import current

    secret = read_secret(current().cache_key)
    pack = Pack(place, secret=secret, signed=secret is not None)
    return parse_pins(pack.head().get("pins", ()))


def parse_pins(rows: Iterable[Any]) -> tuple[Pin, ...]:
    """Read the rows that `Pin.row` gave; ignore rows of another shape."""
    pins = []
    for each in rows:
        try:
            labels, target = _PIN(each, "pin")
            pins.append(Pin(tuple(sorted(labels.items())), CpuTarget(**target)))
        except ValueError:  # another shape, or an instruction set that this version does not know
            continue
    return tuple(pins)


def add_pins(root: Path, pins: Iterable[Pin]) -> None:
    """Add pins to a store, before those that it has."""
    rows = list(dict.fromkeys((*pins, *read_pins(root))))
    keep_note(str(root / VERSION), PINS, seal(_KIND, json.dumps([pin.row() for pin in rows])))
    read_pins.cache_clear()
