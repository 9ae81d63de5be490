"""`step.adjoint`: the adjoint of a recorded step, which calls adjoints in reverse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from ...runtime.process.errors import ArgumentError, DerivativeError, nearest
from ...stages.adjoint.names import partner
from .acts import Act, Slot, Wanted
from .backward import Derived
from .memory import Memory
from .plan import Plan, Save, plan_of
from .recorded_calls import Key, calls_of, is_of_floats, key_of

Record: TypeAlias = Callable[..., AbstractContextManager[Any]]


class StepAdjoint:
    """The adjoint of a recorded step; `step.adjoint` makes it.

    A call takes the slots of the step with their values at entry, if they are others than those of
    the recording, the adjoints of `of`, which are read, and those of `wrt`, which are written; all
    by name. It makes the calls of the step again, in their fields, as far as the adjoints read what
    they write. `forward` and `backward` are its halves, for those who need what the step computes.

    Attributes:
        wrt: the slots whose adjoints are computed.
        of: the slots whose adjoints are given.

    """

    def __init__(
        self,
        slots: Mapping[str, Any],
        calls: Sequence[Any],
        wrt: Sequence[str],
        of: Sequence[str],
        names: str,
        record: Record,
    ) -> None:
        """Plan nothing yet; `record` makes the recordings."""
        numbers = {id(each): name for name, each in slots.items() if isinstance(each, np.generic)}
        fields = {name: each for name, each in slots.items() if id(each) not in numbers}
        self._slots = dict(slots)
        self.wrt, self.of = tuple(wrt), tuple(of)
        for what, chosen in (("wrt", self.wrt), ("of", self.of)):
            _check(what, chosen, fields)
        self._wanted = Wanted(
            calls_of(calls),
            {key_of(each): name for name, each in fields.items()},
            numbers,
            *(
                {key_of(fields[name]): partner(name, names) for name in chosen}
                for chosen in (self.wrt, self.of)
            ),
        )
        both = (*self.of, *self.wrt)
        self.parameters = (*slots, *dict.fromkeys(partner(name, names) for name in both))
        self._copies, self._adjoints = Memory(), Memory()
        self._derived: dict[Any, Derived] = {}
        self._replays: dict[bool, Replay] = {}
        self._record = record

    def __call__(self, **fields: Any) -> None:
        """Compute the adjoints of `wrt`."""
        given = self._given(fields)
        replay = self._replay(whole=False)
        replay.forward(given)
        replay.backward(given)

    def forward(self, **fields: Any) -> None:
        """Make the step, and keep what `backward` needs; adjoints need not be given."""
        self._replay(whole=True).forward(self._given(fields, needed=()))

    def backward(self, **fields: Any) -> None:
        """Compute the adjoints of `wrt` after `forward`, with the same fields."""
        self._replay(whole=True).backward(self._given(fields))

    def hidden(self, state: Sequence[str]) -> tuple[Any, ...]:
        """Return the fields beside some slots that a step reads before it writes them."""
        read = {key for key, name in self._wanted.slots.items() if name in state}
        written, found = set[Key](), dict[Key, Any]()
        for call in self._wanted.calls:
            for each in call.touched:
                if each.read_by and each.key not in written | read:
                    found[each.key] = each.field
            written |= {each.key for each in call.touched if each.written_by}
        return tuple(field for key, field in found.items() if key in written)

    @property
    def saves(self) -> tuple[Save, ...]:
        """What a call copies because the step overwrites it."""
        return self._replay(whole=False).plan.saves

    @property
    def bytes(self) -> int:
        """The memory for copies and adjoints."""
        self._replay(whole=False)
        return self._copies.bytes + self._adjoints.bytes

    def __str__(self) -> str:
        plan = self._replay(whole=False).plan
        head = f"adjoint of {', '.join(self.of)} with respect to {', '.join(self.wrt)}:"
        return "\n".join([head, *(f"  {each.name}" for each in (*plan.forward, *plan.backward))])

    def __repr__(self) -> str:
        return f"<adjoint of a step of {len(self._wanted.calls)} calls>"

    def _replay(self, whole: bool) -> Replay:
        if whole not in self._replays:
            plan = plan_of(self._wanted, self._copies, self._adjoints, self._derived, whole)
            self._replays[whole] = Replay(plan, self._record)
        return self._replays[whole]

    def _given(
        self, fields: Mapping[str, Any], needed: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Return what a call gives; slots that it does not are those of the recording."""
        hint = f"It takes {', '.join(self.parameters)}."
        for name in fields:
            if name not in self.parameters:
                raise ArgumentError(f"The adjoint of the step takes no '{name}'.", hint=hint)
        given = {**self._slots, **fields}
        for name in self.parameters if needed is None else needed:
            if name not in given:
                raise ArgumentError(f"The adjoint of the step needs '{name}'.", hint=hint)
        return given


class Replay:
    """A plan, whose calls of programs are recorded by the first call and replayed by others."""

    def __init__(self, plan: Plan, record: Record) -> None:
        self.plan = plan
        self._forward, self._backward = (
            _Half(acts, record) for acts in (plan.forward, plan.backward)
        )

    def forward(self, given: Mapping[str, Any]) -> None:
        """Run the calls of the step."""
        self._forward(given)

    def backward(self, given: Mapping[str, Any]) -> None:
        """Run their adjoints."""
        self._backward(given)


class _Half:
    def __init__(self, acts: Sequence[Act], record: Record) -> None:
        self._parts = [
            _recorded(list(group), record) if native else _one_by_one(list(group))
            for native, group in groupby(acts, key=lambda act: act.is_native)
        ]

    def __call__(self, given: Mapping[str, Any]) -> None:
        for part in self._parts:
            part(given)


Part = Callable[[Mapping[str, Any]], None]


def _one_by_one(acts: Sequence[Act]) -> Part:
    def run(given: Mapping[str, Any]) -> None:
        for act in acts:
            act.do(given)

    return run


def _recorded(acts: Sequence[Act], record: Record) -> Part:
    used = dict.fromkeys(
        each.name for act in acts for each in act.arguments.values() if isinstance(each, Slot)
    )
    made: list[Any] = []

    def run(given: Mapping[str, Any]) -> None:
        slots = {name: given[name] for name in used}
        if made:
            made[0](**slots)
            return
        with record(**slots) as step:
            for act in acts:
                act.do(given)
        made.append(step)

    return run


def _check(what: str, names: Sequence[str], fields: Mapping[str, Any]) -> None:
    for name in names:
        if name not in fields:
            close = nearest(name, fields)
            raise DerivativeError(
                f"'{what}' names '{name}', which is no slot of the step that is a field.",
                hint=f"Did you mean '{close}'?" if close else "Name it in 'ff.record(...)'.",
            )
        if not is_of_floats(fields[name]):
            raise DerivativeError(f"'{what}' names '{name}', which is no field of floats.")
    if not names:
        raise DerivativeError(f"'{what}' names no slot.")
