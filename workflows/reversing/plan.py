"""Plan the adjoint of a recorded step: which calls run again, what is kept, which adjoints run.

The calls run forwards once, from the values at entry; before a call overwrites what an adjoint
reads, this is copied. Then the adjoints of the calls run in reverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...runtime.calls.boundaries import fill_halo
from ...runtime.fields.device import DeviceType
from ...runtime.process import classes
from .acts import Act, Entry, Wanted, copy
from .backward import Backward, Derived
from .memory import Memory, Pool, bytes_of
from .recorded_calls import Key, is_field, key_of


@classes.frozen
class Save:
    """A copy of what a call of the step overwrites and an adjoint reads.

    Attributes:
        call: the number of the call that overwrites it.
        program: the name of its program.
        parameter: the parameter by which it does.
        bytes: of the copy.

    """

    call: int
    program: str
    parameter: str
    bytes: int


@classes.frozen(eq=False)
class Plan:
    """What the adjoint of a step does: forwards, with copies, and backwards."""

    forward: tuple[Act, ...]
    backward: tuple[Act, ...]
    saves: tuple[Save, ...]


def plan_of(
    wanted: Wanted, copies: Memory, adjoints: Memory, derived: dict[Any, Derived], whole: bool
) -> Plan:
    """Plan an adjoint; `whole`: forwards all calls run, otherwise only those that adjoints need."""
    backward = Backward(wanted, adjoints.pool(), derived)
    backward.plan()
    forward = _Forward(wanted, copies.pool(), backward.needed, whole)
    forward.plan()
    return Plan(
        tuple(forward.acts),
        tuple(forward.resolved(each) for each in backward.acts),
        tuple(forward.saves),
    )


@classes.define(eq=False)
class _Forward:
    """Plans which calls run again, and what is copied before it is overwritten."""

    wanted: Wanted
    pool: Pool
    needed: Mapping[int, set[Key]]
    whole: bool
    acts: list[Act] = classes.field(factory=list)
    saves: list[Save] = classes.field(factory=list)
    kept: dict[tuple[Key, int], Any] = classes.field(factory=dict)
    versions: list[dict[Key, int]] = classes.field(factory=list)

    def plan(self) -> None:
        """Plan all of it."""
        calls = self.wanted.calls
        running = frozenset(range(len(calls)) if self.whole else self._running())
        count: dict[Key, int] = {}
        for number, call in enumerate(calls):
            self.versions.append(dict(count))
            for each in call.touched if number in running else ():
                if each.written_by:
                    count[each.key] = count.get(each.key, 0) + 1
        last = count
        read = {
            (key, self.versions[number].get(key, 0))
            for number, keys in self.needed.items()
            for key in keys
        }
        for number in sorted(running):
            self._run(number, {pair for pair in read if pair[1] < last.get(pair[0], 0)})

    def _running(self) -> Iterator[int]:
        """Yield the calls that write what later calls or adjoints read, the last first."""
        need: set[Key] = set()
        for number, call in reversed(list(enumerate(self.wanted.calls))):
            if any(each.written_by and each.key in need for each in call.touched):
                yield number
                need -= {each.key for each in call.touched if each.covered}
                need |= {each.key for each in call.touched if each.read_by}
            need |= self.needed.get(number, set())

    def _run(self, number: int, kept: set[tuple[Key, int]]) -> None:
        call = self.wanted.calls[number]
        for each in call.touched:
            now = each.key, self.versions[number].get(each.key, 0)
            if each.written_by and now in kept:
                self.kept[now] = self.pool.take(each.field)
                source = self.wanted.place(each.field)
                self.acts.append(Act(copy, {"target": self.kept[now], "source": source}))
                size = bytes_of(each.field)
                self.saves.append(Save(number, call.name, each.written_by[0], size))
        arguments = {name: self.wanted.place(value) for name, value in call.arguments.items()}
        if call.is_halo:
            on_host = call.touched[0].field.device_type == DeviceType.CPU
            self.acts.append(Act(fill_halo, arguments, None, on_host))
        else:
            self.acts.append(Act(call.program, arguments, call.provider, call.program._is_plain))

    def resolved(self, act: Act) -> Act:
        """Return an act with places for the values that calls began with."""
        return classes.evolve(
            act, arguments={name: self._place(each) for name, each in act.arguments.items()}
        )

    def _place(self, value: Any) -> Any:
        if not isinstance(value, Entry):
            return value
        if is_field(value.value):
            key = key_of(value.value)
            kept = self.kept.get((key, self.versions[value.number].get(key, 0)))
            if kept is not None:
                return kept
        return self.wanted.place(value.value)
