"""Moves: what may be decided otherwise in a plan, and nothing of what it is worth.

A plan is the options of a code generator. A move changes one of them; each platform lists its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from ....runtime.process import classes
from ...ir.loops import Kernel

DECIDED: Final = re.compile(
    r"(%\d+) is (an array|computed in place): (?!it is displaced|the result)"
    r"(\d+ point)?(?:.*?(\d+) again(?: <= (\d+) to store)?)?"
)
MOST_VALUES: Final = 16  # that are turned


@classes.frozen
class Move:
    """One decision and another choice, such as '%34', 'array' and 'in place'.

    Attributes:
        name: what is decided.
        now: the choice of the plan.
        other: the choice of the move.
        changes: the options of a plan after the move, by name, from those before.
        again: operations that a plan without the move repeats, as far as the rules count them.
        stored: those that an array costs, by the rules.
        is_weighed: whether the rules counted; else its kind decides.

    """

    name: str
    now: str
    other: str
    changes: Any
    again: int = 0
    stored: int = 0
    is_weighed: bool = True

    def applied(self, options: Any) -> Any:
        """Return the options of another plan."""
        return classes.evolve(options, **self.changes(options))


def option_move(name: str, now: str, other: str, **changes: Any) -> Move:
    """Return a move that gives options new values, whatever they were."""
    return Move(name, now, other, lambda _: changes)


def value_moves(kernel: Kernel) -> Iterator[Move]:
    """Yield the moves of values that are stored in an array or computed again at each use."""
    reasons = (*(buffer.reason for buffer in kernel.buffers), *kernel.notes)
    found = {each[1]: each for reason in reasons for each in DECIDED.finditer(reason)}
    for name, match in list(found.items())[:MOST_VALUES]:
        _, what, points, *costs = match.groups()
        words = ("array", "in place") if what == "an array" else ("in place", "array")
        again, stored = (int(each or 0) for each in costs)
        yield Move(
            name, *words, partial(_turned, name, words[1] == "array"), again, stored,
            is_weighed=points is not None,
        )  # fmt: skip


def _turned(name: str, is_array: bool, options: Any) -> Mapping[str, Any]:
    """Return the lists of values with a name in one of them."""
    arrays, inline = ({*each} - {name} for each in (options.arrays, options.inline))
    (arrays if is_array else inline).add(name)
    return {"arrays": _in_order(arrays), "inline": _in_order(inline)}


def _in_order(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (len(name), name)))
