"""What the adjoint of a step does, one act after the other, and where its arguments lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...runtime.fields import copy_in, fill
from ...runtime.language import leaves_of, map_leaves
from ...runtime.process import DeviceType, classes
from .recorded_calls import Key, RecordedCall, is_field, key_of


@classes.frozen
class Slot:
    """The place of what a call of the adjoint gives."""

    name: str


@classes.frozen(eq=False)
class Entry:
    """The value of an argument when a call began."""

    number: int
    value: Any


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

    def slots(self) -> Iterator[str]:
        """Yield the names of its slots."""
        for each in self.arguments.values():
            leaves = leaves_of(each) if isinstance(each, tuple) else [((), each)]
            yield from (leaf.name for _, leaf in leaves if isinstance(leaf, Slot))

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments, with values for the slots."""
        return {
            name: map_leaves(lambda leaf: _given(leaf, given), each)
            if isinstance(each, tuple)
            else _given(each, given)
            for name, each in self.arguments.items()
        }

    def do(self, given: Mapping[str, Any]) -> None:
        """Do it, with values for the slots."""
        arguments = self.values(given)
        if self.provider is None:
            self.run(**arguments)
        else:
            self.run(**arguments, offset_provider=self.provider)


def _given(value: Any, given: Mapping[str, Any]) -> Any:
    return given[value.name] if isinstance(value, Slot) else value


@classes.frozen(eq=False)
class Wanted:
    """What is asked of the adjoint of a step.

    Attributes:
        calls: of the recording.
        slots: the names of the slots that are fields, by their memory.
        numbers: the names of those that are numbers, by their identity.
        wrt: the memory whose adjoints are computed, with the names of these.
        of: the memory whose adjoints are given, with the names of these.
        spare: the names of adjoints that are given and need not stay as they are.
        constant: the parameters whose fields never change.

    """

    calls: Sequence[RecordedCall]
    slots: Mapping[Key, str]
    numbers: Mapping[int, str]
    wrt: Mapping[Key, str]
    of: Mapping[Key, str]
    spare: frozenset[str] = frozenset()
    constant: frozenset[str] = frozenset()

    def place(self, value: Any) -> Any:
        """Return the slot of an argument, or the argument."""
        name = self.slots.get(key_of(value)) if is_field(value) else self.numbers.get(id(value))
        return value if name is None else Slot(name)


# --- what is done beside calls of programs -------------------------------------------------------


def copy(target: Any, source: Any) -> None:
    """Copy a field into another one; on a device in the order of the current stream."""
    if target.device_type == DeviceType.CPU:
        copy_in(target, source.ndarray)
    else:
        _on_device(target).copy_from(source.ndarray)


def exchanging(exchange: Any) -> Callable[..., None]:
    """Return an exchange of halos as a function of named fields."""

    def exchange_halos(**fields: Any) -> None:
        exchange(*fields.values())

    return exchange_halos


def set_to(target: Any, value: float) -> None:
    """Set all of a field; on a device in the order of the current stream."""
    if target.device_type == DeviceType.CPU:
        fill(target, value)
    else:
        _on_device(target).fill(value)


def _on_device(field: Any) -> Any:
    from ...runtime import gpu  # a process without a GPU needs none

    return gpu.Array.from_any(field.ndarray)


def add(target: Any, source: Any) -> None:
    """Add a field to another one."""
    if target.device_type == DeviceType.CPU:
        array = target.ndarray
        array += source.ndarray
    elif source.device_type == target.device_type:
        from ...runtime.calls.device_add import add_on_device  # a process without a GPU needs none

        add_on_device(target, source)
    else:  # a cost may give its gradient on the host
        copy_in(target, target.asnumpy() + source.asnumpy())
