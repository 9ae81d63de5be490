"""Do the acts of a plan: calls of programs are recorded the first time, and replayed then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from typing import Any, TypeAlias

from .acts import Act

Record: TypeAlias = Callable[..., AbstractContextManager[Any]]
Part: TypeAlias = Callable[[Mapping[str, Any]], None]


class Replay:
    """Acts, one after the other; a call gives fields and numbers for their slots.

    `most_ready` choices of them stay ready, with the fields: on a GPU as graphs.
    """

    def __init__(self, acts: Sequence[Act], record: Record, most_ready: int = 8) -> None:
        self.acts = tuple(acts)
        self._parts = [
            _recorded(list(group), record, most_ready) if native else _one_by_one(list(group))
            for native, group in groupby(acts, key=lambda act: act.is_native)
        ]

    def __call__(self, given: Mapping[str, Any]) -> None:
        """Do them all."""
        for part in self._parts:
            part(given)


def _one_by_one(acts: Sequence[Act]) -> Part:
    def run(given: Mapping[str, Any]) -> None:
        for act in acts:
            act.do(given)

    return run


def _recorded(acts: Sequence[Act], record: Record, most_ready: int) -> Part:
    used = dict.fromkeys(name for act in acts for name in act.slots())
    made: list[Any] = []

    def run(given: Mapping[str, Any]) -> None:
        slots = {name: given[name] for name in used}
        if made:
            made[0](**slots)
            return
        with record(**slots) as step:
            for act in acts:
                act.do(given)
        step.most_ready = most_ready
        made.append(step)

    return run
