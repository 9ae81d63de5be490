"""`step.adjoint`: the adjoint of a recorded step, which calls adjoints in reverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...runtime.process import ArgumentError, DerivativeError, did_you_mean
from ...stages.adjoint.names import partner
from .acts import Wanted
from .carried import Carried, Plan, Record, Replay, Rooms, adjoint_alone, whole_step
from .forward import Save
from .recorded_calls import Key, RecordedCall, calls_of, is_field, is_of_floats, key_of


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
        constant: Sequence[str],
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
        given, found = (
            {key_of(fields[name]): partner(name, names) for name in chosen}
            for chosen in (self.of, self.wrt)
        )
        slots_of = {key_of(each): name for name, each in fields.items()}
        made = calls_of(calls)
        _check_constant(constant, made, slots_of)
        self._wanted = Wanted(
            made, slots_of, numbers, wrt=found, of=given, constant=frozenset(constant)
        )
        both = (*self.of, *self.wrt)
        self.parameters = (*slots, *dict.fromkeys(partner(name, names) for name in both))
        self._rooms, self._record = Rooms(), record

    def __call__(self, **fields: Any) -> None:
        """Compute the adjoints of `wrt`."""
        self._replay(self._given(fields))

    def forward(self, **fields: Any) -> None:
        """Make the step, and keep what `backward` needs; adjoints need not be given."""
        self._halves[0](self._given(fields, needed=()))

    def backward(self, **fields: Any) -> None:
        """Compute the adjoints of `wrt` after `forward`, with the same fields."""
        self._halves[1](self._given(fields))

    def carried(self, pairs: Mapping[str, str]) -> Carried:
        """Return the step and its adjoint for a loop; `pairs` says which slots hand on which."""
        return Carried(self._wanted, pairs, self._rooms, self._record)

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
        """What a call keeps apart because the step overwrites it."""
        return self._plan.saves

    @property
    def bytes(self) -> int:
        """The memory for copies and adjoints."""
        assert self._plan  # it takes its memory
        return self._rooms.bytes

    def __str__(self) -> str:
        head = f"adjoint of {', '.join(self.of)} with respect to {', '.join(self.wrt)}:"
        return "\n".join([head, *(f"  {each.name}" for each in self._replay.acts)])

    def __repr__(self) -> str:
        return f"<adjoint of a step of {len(self._wanted.calls)} calls>"

    @cached_property
    def _plan(self) -> Plan:
        return adjoint_alone(self._wanted, self._rooms)

    @cached_property
    def _replay(self) -> Replay:
        return Replay((*self._plan.forward, *self._plan.backward), self._record)

    @cached_property
    def _halves(self) -> tuple[Replay, Replay]:
        plan = whole_step(self._wanted, self._rooms)
        return Replay(plan.forward, self._record), Replay(plan.backward, self._record)

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


def _check(what: str, names: Sequence[str], fields: Mapping[str, Any]) -> None:
    for name in names:
        if name not in fields:
            raise DerivativeError(
                f"'{what}' names '{name}', which is no slot of the step that is a field.",
                hint=did_you_mean(name, fields) or "Name it in 'ff.record(...)'.",
            )
        if not is_of_floats(fields[name]):
            raise DerivativeError(f"'{what}' names '{name}', which is no field of floats.")
    if not names:
        raise DerivativeError(f"'{what}' names no slot.")


def _check_constant(
    names: Sequence[str], calls: Sequence[RecordedCall], slots: Mapping[Key, str]
) -> None:
    """Refuse constants that the step takes nowhere, writes, or gets anew with each call."""
    written = {each.key for call in calls for each in call.touched if each.written_by}
    taken = {name for call in calls for name in call.arguments}
    for name in names:
        if name not in taken:
            raise DerivativeError(
                f"'constant' names '{name}', which is no parameter of a recorded program.",
                hint=did_you_mean(name, taken),
            )
        given = (call.arguments[name] for call in calls if name in call.arguments)
        for key in (key_of(each) for each in given if is_field(each)):
            if key in slots or key in written:
                what = f"the slot '{slots[key]}'" if key in slots else "a field that it writes"
                raise DerivativeError(
                    f"'constant' names '{name}', for which the step takes {what}.",
                    hint="Name what never changes, such as weights of a mesh.",
                )
