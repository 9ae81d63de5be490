"""Plan the calls of a step that run again, and where the values that they write lie.

A field has a version for each call that writes it. A call that writes all of a field writes it
where no version lies that is read later, so nothing is copied; one that writes a part of it does so
where the version before lies, and that is copied if it is read later.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from ...runtime.calls.boundaries import fill_halo
from ...runtime.language import map_leaves
from ...runtime.process import DeviceType, classes
from .acts import Act, Entry, Slot, Wanted, copy, exchanging
from .recorded_calls import Key, RecordedCall, Touched, is_field, key_of
from .states import Pool, bytes_of


@classes.frozen
class Save:
    """What is kept apart because a call of the step overwrites it and an adjoint reads it.

    Attributes:
        call: the number of the call that overwrites it.
        program: the name of its program.
        parameter: the parameter by which it does.
        bytes: of what is kept.
        is_copied: whether it is copied; otherwise one of both calls writes elsewhere.

    """

    call: int
    program: str
    parameter: str
    bytes: int
    is_copied: bool


@classes.frozen
class Purpose:
    """What the calls run for.

    Attributes:
        results: where the last versions of some memory are wanted.
        needed: the memory whose versions at the beginning of a call are read afterwards, by call.
        kept: the memory whose first version stays where it is.
        whole: whether all calls run, whatever they write.

    """

    results: Mapping[Key, Any]
    needed: Mapping[int, Set[Key]]
    kept: Set[Key] = frozenset()
    whole: bool = False


@classes.define(eq=False)
class Forward:
    """Plans the calls; `forward` makes it.

    Attributes:
        acts: what is to be done.
        saves: what is kept apart.
        before: the versions at the beginning of each call, of memory that was written.
        last: the last version of each memory that is written.
        places: where versions lie, apart from first ones.

    """

    wanted: Wanted
    pool: Pool
    purpose: Purpose
    fields: Mapping[Key, Any]
    running: tuple[int, ...]
    before: tuple[Mapping[Key, int], ...]
    last: Mapping[Key, int]
    read: frozenset[tuple[Key, int]]
    acts: list[Act] = classes.field(factory=list)
    saves: list[Save] = classes.field(factory=list)
    places: dict[tuple[Key, int], Any] = classes.field(factory=dict)

    def plan(self) -> None:
        """Plan all of it."""
        for number in self.running:
            call = self.wanted.calls[number]
            for each in call.touched:
                if each.written_by:
                    self._make_room(number, call, each)
            self._call(number, call)
            for each in call.touched:
                if each.written_by:
                    self._give_back(each.key, self.before[number].get(each.key, 0))

    def resolved(self, act: Act) -> Act:
        """Return an act with places for the values that calls began with."""
        return classes.evolve(
            act, arguments={name: self._entry(each) for name, each in act.arguments.items()}
        )

    def _entry(self, value: Any) -> Any:
        if not isinstance(value, Entry):
            return value
        return self._version(value.number, value.value)

    def _version(self, number: int, value: Any, later: int = 0) -> Any:
        """Return where the version of a field lies that a call begins with, or a later one."""
        key = key_of(value) if is_field(value) else None
        if key is None or key not in self.fields:
            return self.wanted.place(value)
        return self._place(key, self.before[number].get(key, 0) + later)

    def _place(self, key: Key, version: int) -> Any:
        """Return where a version of some memory lies."""
        found = self.places.get((key, version))
        return self._own(key) if found is None else found

    def _own(self, key: Key) -> Any:
        """Return the place of some memory in the recording."""
        return self.wanted.place(self.fields[key])

    def _make_room(self, number: int, call: RecordedCall, each: Touched) -> None:
        """Choose where the next version of some memory goes, and keep what is read later."""
        key, old = each.key, self.before[number].get(each.key, 0)
        source, target = self._place(key, old), self._target(each, old)
        is_copied = self._move_from(target, key, old)
        if not each.is_apart and not _same(source, target):
            self.acts.append(Act(copy, {"target": target, "source": source}))
            is_copied = True
        if (key, old) in self.read:
            size = bytes_of(each.field)
            self.saves.append(Save(number, call.name, each.written_by[0], size, is_copied))
        self.places[key, old + 1] = target

    def _target(self, each: Touched, old: int) -> Any:
        key, results = each.key, self.purpose.results
        home, source = results.get(key, self._own(key)), self._place(key, old)
        if old + 1 == self.last[key] and key in results:
            return home
        if not each.is_apart and not self._is_kept(key, source):
            return source
        is_in_the_way = key in results and (key, old + 1) in self.read
        if is_in_the_way or self._is_kept(key, home) or self._read_at(home, key, old):
            return self.pool.take(each.field)
        return home

    def _is_kept(self, key: Key, place: Any) -> bool:
        return key in self.purpose.kept and _same(place, self._own(key))

    def _read_at(self, place: Any, key: Key, until: int) -> list[int]:
        """Return the versions of some memory that lie in a place and are read later."""
        return [
            version
            for version in range(until + 1)
            if (key, version) in self.read and _same(self._place(key, version), place)
        ]

    def _move_from(self, place: Any, key: Key, until: int) -> bool:
        """Copy what lies in a place and is read later; tell whether there was any."""
        for version in self._read_at(place, key, until):
            self.places[key, version] = made = self.pool.take(self.fields[key])
            self.acts.append(Act(copy, {"target": made, "source": place}))
            return True
        return False

    def _give_back(self, key: Key, old: int) -> None:
        """Give the memory of a version back that nothing reads any more."""
        place = self._place(key, old)
        is_used = _same(place, self._place(key, old + 1)) or (key, old) in self.read
        is_of_step = _same(place, self._own(key)) or isinstance(place, Slot)
        if not is_used and not is_of_step:
            self.pool.give(place)

    def _call(self, number: int, call: RecordedCall) -> None:
        arguments = {
            name: map_leaves(lambda leaf, own=name: self._argument(number, call, own, leaf), each)
            if isinstance(each, tuple)
            else self._argument(number, call, name, each)
            for name, each in call.arguments.items()
        }
        if call.is_exchange:
            self.acts.append(Act(exchanging(call.program), arguments))
        elif call.is_halo:
            on_host = call.touched[0].field.device_type == DeviceType.CPU
            self.acts.append(Act(fill_halo, arguments, None, on_host))
        else:
            self.acts.append(Act(call.program, arguments, call.provider, call.program._is_plain))

    def _argument(self, number: int, call: RecordedCall, name: str, leaf: Any) -> Any:
        key = key_of(leaf) if is_field(leaf) else None
        own = next((each for each in call.touched if each.key == key and each.written_by), None)
        is_old = own is None or (own.is_apart and name in own.read_by)
        return self._version(number, leaf, 0 if is_old else 1)


def forward(wanted: Wanted, pool: Pool, purpose: Purpose) -> Forward:
    """Plan the calls that run for a purpose."""
    calls = wanted.calls
    running = tuple(range(len(calls))) if purpose.whole else _running(calls, purpose)
    count: dict[Key, int] = {}
    before = []
    for number, call in enumerate(calls):
        before.append(dict(count))
        for each in call.touched if number in running else ():
            if each.written_by:
                count[each.key] = count.get(each.key, 0) + 1
    fields = {each.key: each.field for call in reversed(calls) for each in call.touched}
    read = frozenset(
        (key, before[number].get(key, 0)) for number, keys in purpose.needed.items() for key in keys
    )
    made = Forward(wanted, pool, purpose, fields, running, tuple(before), count, read)
    made.plan()
    return made


def _running(calls: Any, purpose: Purpose) -> tuple[int, ...]:
    """Return the calls that write what later calls read, or what is read afterwards."""
    need: set[Key] = set(purpose.results)
    found = []
    for number, call in reversed(list(enumerate(calls))):
        if any(each.written_by and each.key in need for each in call.touched):
            found.append(number)
            need -= {each.key for each in call.touched if each.covered}
            need |= {each.key for each in call.touched if each.read_by}
        need |= purpose.needed.get(number, set())
    return tuple(reversed(found))


def _same(one: Any, other: Any) -> bool:
    """Tell whether two places are one."""
    if isinstance(one, Slot) or isinstance(other, Slot):
        return bool(isinstance(one, Slot) and isinstance(other, Slot) and one.name == other.name)
    return bool(one is other or key_of(one) == key_of(other))
