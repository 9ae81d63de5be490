"""What recorded calls read and write: memory, in order, with the boxes of each statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...runtime import _core
from ...runtime.calls.boundaries import fill_halo
from ...runtime.decomposition.exchange import Exchange
from ...runtime.language import leaves_of
from ...runtime.language.argument_binding import bind_arguments
from ...runtime.process import DerivativeError, classes
from ...stages.lower.boxes.footprints import footprints
from ..builds.building import parsed
from ..variants.naming import alike_outputs, leaf_name
from ..variants.numbers import Numbers

Key: TypeAlias = tuple[Any, ...]  # the memory of a field
Box: TypeAlias = Mapping[Any, tuple[int, int]]


@classes.frozen(eq=False)
class Touched:
    """What a call does with the memory of one field.

    Attributes:
        key: the memory.
        field: one field with this memory.
        read_by: the parameters by which its value at entry is read.
        written_by: the parameters by which it is written.
        covered: whether every point is written.
        is_apart: whether a call may write another memory than it reads: all is written, and what
            it reads by other names are values at entry.

    """

    key: Key
    field: Any
    read_by: tuple[str, ...]
    written_by: tuple[str, ...]
    covered: bool
    is_apart: bool = False


@classes.frozen(eq=False)
class RecordedCall:
    """A recorded call: its arguments by name, and what it touches.

    `program` may also be `fill_halo`, or an exchange between ranks.
    """

    program: Any
    arguments: Mapping[str, Any]
    provider: Mapping[str, Any] | None
    touched: tuple[Touched, ...]

    @property
    def name(self) -> str:
        """The name of the program."""
        return str(getattr(self.program, "__name__", self.program))

    @property
    def is_halo(self) -> bool:
        """Whether it fills a halo."""
        return self.program is fill_halo

    @property
    def is_exchange(self) -> bool:
        """Whether it exchanges halos between ranks."""
        return isinstance(self.program, Exchange)


def key_of(field: Any) -> Key:
    """Return what identifies the memory of a field."""
    return (
        field.pointer, tuple(field.strides), tuple(field.dims), tuple(field.starts),
        tuple(field.shape), field.dtype_name, field.device_type, field.device_id,
    )  # fmt: skip


def is_field(value: Any) -> bool:
    """Tell whether a value is a field in memory."""
    return isinstance(value, _core.FieldView)


def provider_of(program: Any, given: Any) -> Any:
    """Return the offset provider of a call: the given one, or that of the program."""
    return program._made.options.connectivities if given is None else given


def is_of_floats(field: Any) -> bool:
    """Tell whether a field has derivatives."""
    return bool(np.dtype(field.dtype_name).kind == "f")


def calls_of(rows: Sequence[tuple[Any, Any, Any, Any]]) -> tuple[RecordedCall, ...]:
    """Return the calls of a recording.

    Raises:
        DerivativeError: for a call of anything but a program, and for views of one memory.

    """
    owned = {
        key_of(field): call.owned(field)
        for call, args, _, _ in rows
        if isinstance(call, Exchange)
        for field in args
    }
    by_dims = {tuple(sorted(dim.value for dim in box)): box for box in owned.values()}
    found = tuple(_call(number, by_dims.values(), *row) for number, row in enumerate(rows))
    _check_views(found)
    return found


def _call(
    number: int, owned: Iterable[Box], call: Any, args: Any, kwargs: Any, provider: Any
) -> RecordedCall:
    if isinstance(call, Exchange):
        fields = {f"field {place}": field for place, field in enumerate(args)}
        touched = tuple(
            Touched(key_of(field), field, (name,), (name,), covered=False)
            for name, field in fields.items()
        )
        return RecordedCall(call, fields, None, touched)
    if call is fill_halo or hasattr(call, "boundaries"):
        given = args if call is fill_halo else (args[0], *call.boundaries(args[1:]))
        field = given[0]
        name = "field"
        touched = (Touched(key_of(field), field, (name,), (name,), False),)
        arguments = dict(zip(("field", "interior", "boundaries"), given, strict=True))
        return RecordedCall(fill_halo, arguments, None, touched)
    if getattr(getattr(call, "__definition__", None), "kind", "") != "program":
        raise DerivativeError(
            f"Call {number} of the recording, of '{getattr(call, '__name__', call)}', is none of a "
            "program, and only programs have adjoints.",
            hint="Call operators in a program; fix arguments by 'bind' or 'setup'.",
        )
    if kwargs is not None:
        kwargs = dict(kwargs)
        provider = kwargs.pop("offset_provider", None)
        free = [each for each in call._variants.shape.parameters if each in call._free]
        given = {**dict(call._made.bound), **bind_arguments(call.__name__, free, args, kwargs)}
    else:
        given = dict(zip(call.parameters, args, strict=True))
    given = dict(call._variants.shape.with_fields(given))
    return RecordedCall(call, given, provider, tuple(_touched(call, given, provider, owned)))


def _touched(
    program: Any, given: Mapping[str, Any], provider: Any, owned: Iterable[Box]
) -> Iterator[Touched]:
    """Yield what a program touches, by memory; of a field that is cut, what a rank owns counts."""
    fields = {
        leaf_name(name, path): leaf
        for name, value in given.items()
        for path, leaf in leaves_of(value)
        if is_field(leaf)
    }
    written: dict[Key, list[Box]] = {}
    read_by: dict[Key, dict[str, None]] = {}
    written_by: dict[Key, dict[str, None]] = {}
    read_again = set[Key]()  # by another name than it was written by
    for reads, writes in _statements(program, given, provider, fields):
        for name, box in reads:
            key = key_of(fields[name])
            if key in written and name not in written_by[key]:
                read_again.add(key)
            if not any(_inside(box, each) for each in written.get(key, ())):
                read_by.setdefault(key, {})[name] = None
        for name, box in writes:
            key = key_of(fields[name])
            written_by.setdefault(key, {})[name] = None
            written.setdefault(key, []).append(box)
    by_key = {key_of(each): each for each in fields.values()}
    for key in dict.fromkeys((*read_by, *written_by)):
        whole = dict(_box_of(by_key[key]))
        for box in owned:
            whole |= box if box.keys() <= whole.keys() else {}
        boxes = written.get(key, ())
        covered = any(_inside(whole, each) for each in boxes)
        if boxes and whole != _box_of(by_key[key]) and all(_inside(each, whole) for each in boxes):
            raise DerivativeError(
                f"Program '{program.__name__}' writes '{next(iter(written_by[key]))}' on points "
                "that this rank owns and none of the halo, but these hand back to owned points.",
                hint="Compute in the halo, as far as the program reads, and make the halo as much "
                "wider.",
            )
        into, out = tuple(read_by.get(key, ())), tuple(written_by.get(key, ()))
        is_apart = covered and key not in read_again and not set(into) & set(out)
        is_apart = is_apart and given.keys() >= {*into, *out}
        yield Touched(key, by_key[key], into, out, covered, is_apart)


Part: TypeAlias = tuple[str, Box]


def _statements(
    program: Any, given: Mapping[str, Any], provider: Any, fields: Mapping[str, Any]
) -> Iterator[tuple[list[Part], list[Part]]]:
    """Yield what each statement reads and writes; all of a derivative counts as one."""
    derived = program._made.derived
    if derived is not None:
        own = [(name, name.partition(".")[0]) for name in fields]
        reads = [(name, _box_of(fields[name])) for name, of in own if of in derived.read]
        yield reads, [(name, {}) for name, of in own if of in derived.written]
        return
    shape = program._variants.shape
    provider = provider_of(program, provider)
    variant = shape.default(provider)
    variant = classes.evolve(variant, alike=alike_outputs(shape.summary.outputs, given))
    numbers = Numbers(program.__name__, given, provider or {})
    for each in footprints(parsed(program._current()), variant):
        part = {} if each.box is None else numbers.points(each.box, {})
        reads, writes = (
            [(name, numbers.points(ranges, part)) for name, ranges in touched]
            for touched in (each.reads, each.writes)
        )
        yield reads, writes


def _box_of(field: Any) -> Box:
    return {
        dim: (start, start + size)
        for dim, start, size in zip(field.dims, field.starts, field.shape, strict=True)
    }


def _inside(box: Box, other: Box) -> bool:
    """Tell whether a box lies in another; an empty one of no known dimension lies in none."""
    if any(start >= stop for start, stop in box.values()):
        return True
    return bool(other or not box) and all(
        dim in other and other[dim][0] <= start and stop <= other[dim][1]
        for dim, (start, stop) in box.items()
    )


def _check_views(calls: Sequence[RecordedCall]) -> None:
    """Refuse memory that is written by one field and touched by another with other points."""
    touched = {each.key: each.field for call in calls for each in call.touched}
    written = {each.key for call in calls for each in call.touched if each.written_by}
    for number, call in enumerate(calls):
        for each in call.touched:
            for key, other in touched.items():
                if key == each.key or not (key in written or each.key in written):
                    continue
                if key[-2:] == each.key[-2:] and _overlap(each.field, other):
                    raise DerivativeError(
                        f"Call {number} of the recording, of '{call.name}', takes a part of the "
                        "memory that another call writes.",
                        hint="Pass whole fields; fill halos with 'ff.fill_halo'.",
                    )


def _overlap(one: Any, other: Any) -> bool:
    (start, stop), (first, beyond) = map(_bytes_of, (one, other))
    return start < beyond and first < stop


def _bytes_of(field: Any) -> tuple[int, int]:
    steps = list(zip(field.shape, field.strides, strict=True))
    if any(size == 0 for size, _ in steps):
        return field.pointer, field.pointer
    low = sum(min(0, (size - 1) * step) for size, step in steps)
    high = sum(max(0, (size - 1) * step) for size, step in steps)
    return field.pointer + low, field.pointer + high + np.dtype(field.dtype_name).itemsize
