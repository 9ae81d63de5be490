"""Explain a cache miss: compare the key with the nearest stored one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..runtime.process import classes
from .record import Record
from .store import Store


@classes.frozen
class Difference:
    """A part of a key that changed; None where one side does not have it."""

    label: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        return f"{self.label}: {self.old or 'absent'} -> {self.new or 'absent'}"


def nearest(
    store: Store, stage: str, program: str, components: Mapping[str, str], other_than: str = ""
) -> Record | None:
    """Return the record of this stage and program that shares most parts; the latest of equals.

    A record with the key `other_than` does not count.
    """
    best: tuple[int, int, int, str] | None = None
    found = None
    for record in store.records(stage, program):
        old = dict(record.components)
        shared = sum(old.get(label) == value for label, value in components.items())
        rank = (shared, -len(old), record.created, record.key)
        if record.key != other_than and (best is None or rank > best):
            best, found = rank, record
    return found


def differences(
    old: Mapping[str, str] | Iterable[tuple[str, str]],
    new: Mapping[str, str] | Iterable[tuple[str, str]],
) -> tuple[Difference, ...]:
    """Return the parts that differ, sorted by label.

    >>> [str(found) for found in differences({"fuse": "True", "isa": "v3"}, {"fuse": "False"})]
    ['fuse: True -> False', 'isa: v3 -> absent']
    """
    before, after = dict(old), dict(new)
    return tuple(
        Difference(label, before.get(label), after.get(label))
        for label in sorted({*before, *after})
        if before.get(label) != after.get(label)
    )
