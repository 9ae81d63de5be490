"""Plan the adjoints of the calls of a step, in reverse, and where the adjoint of a memory lies.

A memory has at most one adjoint at a time, which may move from call to call: it is assigned where
nothing was handed on yet, added to where something was, and written elsewhere where a call reads it
and overwrites it under another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from ...runtime.calls.boundaries import NATIVE, fill_halo_adjoint
from ...runtime.language import FieldOffset
from ...runtime.process import DerivativeError, DeviceType, classes
from ...stages.adjoint.names import partner
from ...stages.ir.dataflow import Input
from ..derivatives.derivative import adjoint
from .acts import Act, Entry, Slot, Wanted, add, copy, exchanging, set_to
from .constants import Constants, offsets_of
from .recorded_calls import Key, RecordedCall, Touched, is_field, is_of_floats, key_of
from .states import Pool

NAMES = "{}_adjoint"


@classes.frozen(eq=False)
class Derived:
    """The adjoint of a program.

    Attributes:
        program: the adjoint.
        parameters: its parameters, in order.
        read: those whose fields it reads.
        weights: those that have a constant field along a transposed table: which one, and where.

    """

    program: Any
    parameters: tuple[str, ...]
    read: frozenset[str]
    weights: Mapping[str, tuple[str, FieldOffset]]


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
    constants: Constants
    home: dict[Key, Any] = classes.field(factory=dict)
    needed: dict[int, set[Key]] = classes.field(factory=dict)
    acts: list[Act] = classes.field(factory=list)

    def plan(self) -> None:
        """Plan all of it."""
        wanted = self.wanted
        self.home = {key: Slot(name) for key, name in wanted.of.items()}
        for each in _adjoint_calls(wanted.calls, wanted.wrt.keys(), wanted.of.keys()):
            if each.call.is_halo or each.call.is_exchange:
                self._halos(each)
            else:
                self._program(each)
        for key, name in wanted.wrt.items():
            found = self.home.get(key)
            if found is None:
                self.acts.append(Act(set_to, {"target": Slot(name), "value": 0.0}))
            elif found != Slot(name):
                self.acts.append(Act(copy, {"target": Slot(name), "source": found}))

    def _halos(self, each: _AdjointCall) -> None:
        """Change the halos of adjoints in place.

        Between ranks they become what the owners have: all that points of other ranks hand back
        is computed here, too, because programs also write points of the halo.
        """
        own = {}
        for name in each.of:
            touched = each.touched(name)
            found = self.home[touched.key]
            if not (isinstance(found, Slot) and found.name in self.wanted.spare):
                found = self._own(touched.key, touched.field)
            own[name] = found
        if each.call.is_exchange:
            self.acts.append(Act(exchanging(each.call.program), own))
        else:
            field = each.call.touched[0].field
            on_host = field.device_type == DeviceType.CPU and field.dtype_name in NATIVE
            given = {**each.call.arguments, **own}
            self.acts.append(Act(fill_halo_adjoint, given, None, on_host))

    def _program(self, each: _AdjointCall) -> None:
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

    def _call(self, each: _AdjointCall, given: Mapping[str, Any], added: tuple[str, ...]) -> None:
        made = self._derived(each, added)
        partners = {partner(name, NAMES): place for name, place in given.items()}
        arguments = {}
        for name in made.parameters:
            if name in partners:
                arguments[name] = partners[name]
                continue
            if name in made.weights:
                parameter, offset = made.weights[name]
                arguments[name] = self.constants.along(each.call, parameter, offset)
                continue
            value = each.call.arguments[name]
            arguments[name] = Entry(each.number, value)
            if is_field(value) and name in made.read:
                self.needed.setdefault(each.number, set()).add(key_of(value))
        self.acts.append(Act(made.program, arguments, each.call.provider, made.program._is_plain))

    def _derived(self, each: _AdjointCall, added: tuple[str, ...]) -> Derived:
        offsets = dict(offsets_of(each.call, self.wanted.constant))
        key = (each.call.program, each.wrt, each.of, added, tuple(offsets.items()))
        if key not in self.derived:
            self.derived[key] = derived(each, added, offsets)
        return self.derived[key]

    def _own(self, key: Key, field: Any) -> Any:
        """Return where an adjoint lies that may be changed."""
        found = self.home[key]
        if isinstance(found, Slot) and found.name not in self.wanted.wrt.values():
            made = self._new(key, field, {})
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


def derived(
    each: _AdjointCall, added: tuple[str, ...], offsets: Mapping[str, FieldOffset]
) -> Derived:
    """Derive the adjoint of a call; it is built by the first call, whatever its program says."""
    program = each.call.program.with_compilation_options(enable_jit=True)
    made = adjoint(
        program, wrt=each.wrt, of=each.of, accumulate=added, transposed=offsets, names=NAMES
    )
    last = made._made.derived.stages[-1]
    stage = made._made.derived.under[-1]
    traced = made.trace(until=stage, offset_provider=each.call.provider)
    values = traced[stage].artifact.program.values
    read = {value.name.partition(".")[0] for value in values if isinstance(value, Input)}
    weights = {own.name: (own.parameter, offsets[own.parameter]) for own in last.weights}
    return Derived(made, tuple(last.parameters), frozenset(read), weights)


@classes.frozen(eq=False)
class _AdjointCall:
    """The adjoint of one call; `of` and `wrt` are parameters, one in both is handed on in place.

    Attributes:
        number: which call of the recording.
        call: that call.
        of: what is given.
        wrt: what is computed.
        over: the memory of `of` whose adjoint ends here, because all of it is overwritten; in
            order, because plans are alike on all ranks.

    """

    number: int
    call: RecordedCall
    of: tuple[str, ...]
    wrt: tuple[str, ...]
    over: tuple[Key, ...]

    def touched(self, name: str) -> Touched:
        """Return what is touched by a parameter."""
        return next(each for each in self.call.touched if name in (*each.read_by, *each.written_by))


def _adjoint_calls(
    calls: Sequence[RecordedCall], wrt: Set[Key], of: Set[Key]
) -> Iterator[_AdjointCall]:
    """Yield the adjoints of a step, the first to run first.

    Forwards, memory moves if a call writes it that reads what moves. Backwards, a memory is live
    while the cost depends on it. A call has an adjoint if it moves and writes what is live.
    """
    live = set(of)
    numbered = list(enumerate(zip(calls, _moving(calls, wrt), strict=True)))
    for number, (call, moving) in reversed(numbered):
        made = _adjoint_call(number, call, moving, live)
        live -= {each.key for each in call.touched if each.written_by}
        if made is not None:
            yield made
            live |= {made.touched(name).key for name in made.wrt}


def _moving(calls: Sequence[RecordedCall], wrt: Set[Key]) -> Iterator[frozenset[Key]]:
    """Yield the memory that moves before each call."""
    moving = set(wrt)
    for call in calls:
        yield frozenset(moving)
        moves = any(each.read_by and each.key in moving for each in call.touched)
        for each in call.touched:
            if each.written_by and moves and is_of_floats(each.field):
                moving.add(each.key)
            elif each.written_by and each.covered:
                moving.discard(each.key)


def _adjoint_call(
    number: int, call: RecordedCall, moving: Set[Key], live: Set[Key]
) -> _AdjointCall | None:
    written = [each for each in call.touched if each.written_by and each.key in live]
    read = [each for each in call.touched if each.read_by and each.key in moving]
    kept = [each for each in written if each.key in moving and not each.covered]
    if not kept and not (written and read):
        return None
    for each in written:
        if len(each.written_by) > 1:
            raise DerivativeError(
                f"Call {number} of the recording, of '{call.name}', writes one field by the "
                f"parameters '{each.written_by[0]}' and '{each.written_by[1]}'.",
                hint="Pass different fields.",
            )
    of = dict.fromkeys(each.written_by[0] for each in written)
    wrt = dict.fromkeys(name for each in read for name in each.read_by)
    # the points that a call leaves as they are keep their adjoints
    wrt |= dict.fromkeys(each.written_by[0] for each in kept)
    stay = {each.key for each in kept}
    over = tuple(each.key for each in written if each.key not in stay)
    _check_names(number, call, (*of, *wrt))
    # in the order of the call: calls that are alike share an adjoint
    given, found = (tuple(name for name in call.arguments if name in some) for some in (of, wrt))
    return _AdjointCall(number, call, given, found, over)


def _check_names(number: int, call: RecordedCall, names: Sequence[str]) -> None:
    for name in names:
        if name not in call.arguments:
            raise DerivativeError(
                f"Call {number} of the recording, of '{call.name}', takes the collection "
                f"'{name.partition('.')[0]}', and adjoints of steps take fields.",
                hint="Give each field a parameter of its own.",
            )
