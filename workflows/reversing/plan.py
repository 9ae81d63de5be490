"""Plan the adjoint of a recorded step: which calls run again, what is kept, which adjoints run.

The calls run forwards once, from the values at entry; before a call overwrites what an adjoint
reads, this is copied. Then the adjoints of the calls run in reverse. Each memory has at most one
adjoint at a time; where that lies may change from call to call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...runtime.calls.boundaries import fill_halo
from ...runtime.calls.halo_adjoint import fill_halo_adjoint
from ...runtime.fields.allocation import copy_in, fill
from ...runtime.fields.device import DeviceType
from ...runtime.meshes.transposed_tables import transposed
from ...runtime.process import classes
from ...stages.adjoint.names import partner
from ...stages.ir.dataflow import Input
from ..derivatives.derivative import adjoint
from .adjoint_calls import AdjointCall, adjoint_calls
from .memory import Memory, Pool, bytes_of
from .recorded_calls import Key, RecordedCall, is_field, key_of

NAMES = "{}_adjoint"


@classes.frozen
class Slot:
    """The place of what a call of the adjoint gives."""

    name: str


@classes.frozen(eq=False)
class Act:
    """One thing to do: a function, and values or slots for its arguments.

    `is_native`: a recording takes it down.
    """

    run: Callable[..., Any]
    arguments: Mapping[str, Any]
    provider: Mapping[str, Any] | None = None
    is_native: bool = False

    @property
    def name(self) -> str:
        """What is called."""
        return str(self.run.__name__).strip("_")

    def do(self, given: Mapping[str, Any]) -> None:
        """Do it, with values for the slots."""
        arguments = {
            name: given[each.name] if isinstance(each, Slot) else each
            for name, each in self.arguments.items()
        }
        if self.provider is None:
            self.run(**arguments)
        else:
            self.run(**arguments, offset_provider=self.provider)


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


@classes.frozen(eq=False)
class Derived:
    """The adjoint of a program, and which of its fields it reads."""

    program: Any
    parameters: tuple[str, ...]
    read: frozenset[str]


@classes.frozen(eq=False)
class Wanted:
    """What is asked of the adjoint of a step.

    Attributes:
        calls: of the recording.
        slots: the names of the slots that are fields, by their memory.
        numbers: the names of those that are numbers, by their identity.
        wrt: the memory whose adjoints are computed, with the names of these.
        of: the memory whose adjoints are given, with the names of these.

    """

    calls: Sequence[RecordedCall]
    slots: Mapping[Key, str]
    numbers: Mapping[int, str]
    wrt: Mapping[Key, str]
    of: Mapping[Key, str]

    def place(self, value: Any) -> Any:
        """Return the slot of an argument, or the argument."""
        name = self.slots.get(key_of(value)) if is_field(value) else self.numbers.get(id(value))
        return value if name is None else Slot(name)


@classes.frozen(eq=False)
class Entry:
    """The value of an argument when a call began."""

    number: int
    value: Any


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
class Backward:
    """Plans the adjoints of the calls, and where the adjoint of each memory lies.

    Attributes:
        home: where the adjoint of a memory lies that has one.
        needed: the memory whose values at the beginning of a call are read, by call.
        acts: what is to be done.

    """

    wanted: Wanted
    pool: Pool
    derived: dict[Any, Derived]
    home: dict[Key, Any] = classes.field(factory=dict)
    needed: dict[int, set[Key]] = classes.field(factory=dict)
    acts: list[Act] = classes.field(factory=list)

    def plan(self) -> None:
        """Plan all of it."""
        wanted = self.wanted
        self.home = {key: Slot(name) for key, name in wanted.of.items()}
        for each in adjoint_calls(wanted.calls, wanted.wrt.keys(), wanted.of.keys()):
            if each.call.is_halo:
                self._halo(each)
            else:
                self._program(each)
        for key, name in wanted.wrt.items():
            found = self.home.get(key)
            if found is None:
                self.acts.append(Act(set_to, {"target": Slot(name), "value": 0.0}))
            elif found != Slot(name):
                self.acts.append(Act(copy, {"target": Slot(name), "source": found}))

    def _halo(self, each: AdjointCall) -> None:
        (touched,) = each.call.touched
        own = {**each.call.arguments, "field": self._own(touched.key, touched.field)}
        self.acts.append(Act(fill_halo_adjoint, own))

    def _program(self, each: AdjointCall) -> None:
        given = {name: self.home[each.touched(name).key] for name in each.of}
        homes: dict[Key, Any] = {}
        added, extra = [], []
        for name in sorted(each.wrt, key=lambda name: name not in each.of):
            touched = each.touched(name)
            key, field = touched.key, touched.field
            if key in homes:  # one memory by two names
                given[name] = self.pool.take(field)
                extra.append((homes[key], given[name]))
                continue
            if key in self.home and key not in each.over:
                given[name] = self._own(key, field)
                added += [] if name in each.of else [name]
            else:
                given[name] = self._new(key, field, homes)
            homes[key] = given[name]
        for name in each.of:  # a copy may have taken the place of what was given
            key = each.touched(name).key
            given[name] = homes[key] if name in each.wrt else self.home[key]
        self._call(each, given, tuple(added))
        for target, more in extra:
            self.acts.append(Act(add, {"target": target, "source": more}))
            self.pool.give(more)
        for key in each.over:
            self._free(self.home.pop(key))
        self.home |= homes

    def _call(self, each: AdjointCall, given: Mapping[str, Any], added: tuple[str, ...]) -> None:
        made = self._derived(each, added)
        partners = {partner(name, NAMES): place for name, place in given.items()}
        arguments = {}
        for name in made.parameters:
            if name in partners:
                arguments[name] = partners[name]
                continue
            value = each.call.arguments[name]
            arguments[name] = Entry(each.number, value)
            if is_field(value) and name in made.read:
                self.needed.setdefault(each.number, set()).add(key_of(value))
        provider = each.call.provider and transposed(each.call.provider)
        self.acts.append(Act(made.program, arguments, provider, made.program._is_plain))

    def _derived(self, each: AdjointCall, added: tuple[str, ...]) -> Derived:
        key = (each.call.program, each.wrt, each.of, added)
        if key not in self.derived:
            self.derived[key] = derived(each, added)
        return self.derived[key]

    def _own(self, key: Key, field: Any) -> Any:
        """Return where an adjoint lies that may be changed."""
        found = self.home[key]
        if isinstance(found, Slot) and found.name not in self.wanted.wrt.values():
            made = self.pool.take(field)
            self.acts.append(Act(copy, {"target": made, "source": found}))
            self.home[key] = found = made
        return found

    def _new(self, key: Key, field: Any, homes: Mapping[Key, Any]) -> Any:
        """Return a place for an adjoint: at best that where it is wanted in the end."""
        name = self.wanted.wrt.get(key)
        if name is not None and Slot(name) not in (*self.home.values(), *homes.values()):
            return Slot(name)
        return self.pool.take(field)

    def _free(self, place: Any) -> None:
        if not isinstance(place, Slot):
            self.pool.give(place)


def derived(each: AdjointCall, added: tuple[str, ...]) -> Derived:
    """Derive the adjoint of a call; it is built by the first call, whatever its program says."""
    program = each.call.program.with_compilation_options(enable_jit=True)
    made = adjoint(program, wrt=each.wrt, of=each.of, accumulate=added, names=NAMES)
    parameters = tuple(made._made.derived.stages[-1].parameters)
    provider = each.call.provider and transposed(each.call.provider)
    stage = made._made.derived.under[-1]
    values = made.trace(until=stage, offset_provider=provider)[stage].artifact.program.values
    read = {value.name.partition(".")[0] for value in values if isinstance(value, Input)}
    return Derived(made, parameters, frozenset(read))


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


# --- what is done beside calls of programs -------------------------------------------------------


def copy(target: Any, source: Any) -> None:
    """Copy a field into another one."""
    copy_in(target, source.ndarray)


def set_to(target: Any, value: float) -> None:
    """Set all of a field."""
    fill(target, value)


def add(target: Any, source: Any) -> None:
    """Add a field to another one; on a device, through the host."""
    if target.device_type == DeviceType.CPU:
        array = target.ndarray
        array += source.ndarray
    else:
        copy_in(target, target.asnumpy() + source.asnumpy())
