"""Subject: a program with all arguments of one call, which tuning runs with many options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from ...runtime.fields import Connectivity, Field, as_connectivity, as_field
from ...runtime.language import leaves_of, map_leaves
from ...runtime.process import ArgumentError, DeviceType, classes
from ...stages.artifacts import Variant
from ..backends.backend import BACKENDS, Backend, reference
from ..backends.first_tier import compiled_only
from ..entries.checked import written_by
from ..entries.entry_point import EntryPoint, entry_arguments, entry_of
from ..entries.program import Program
from ..setups.set_up import SetUpProgram
from ..variants.naming import leaf_name

Values = dict[str, np.ndarray[Any, Any]]
MOST_POINTS: Final = 1 << 18  # of all fields, for the backend 'reference'
ROWS: Final = BACKENDS["rows"].with_options(numerics="strict")  # the functions of the C library


@classes.frozen(eq=False)
class Subject:
    """A program, the arguments of a call by name, and its neighbour tables.

    Attributes:
        entry: the program or operator, without bound arguments.
        arguments: every argument.
        provider: the neighbour tables.
        before: the values of the fields that a call writes, as they were.

    """

    entry: EntryPoint
    arguments: Mapping[str, Any]
    provider: Mapping[str, Any] | None
    before: Mapping[str, Any]

    def on(self, backend: Backend | None) -> EntryPoint:
        """Return the program on another backend, whose calls wait for compiled code."""
        backend = None if backend is None else compiled_only(backend)
        options = classes.evolve(self.entry.compilation_options, enable_jit=None)
        found: EntryPoint = self.entry._changed(backend=backend, options=options)
        return found

    def variant(self, entry: EntryPoint) -> Variant:
        """Return the variant that the call needs."""
        return entry._variants.variant((), self.arguments, self.provider)

    def call(self, backend: Backend) -> Callable[[], object]:
        """Return a function that makes the call, prepared as a time loop prepares it."""
        entry = self.on(backend)
        if isinstance(entry, Program):
            return entry.bind(offset_provider=self.provider, **self.arguments).call
        more = {} if self.provider is None else {"offset_provider": self.provider}
        return lambda: entry(**self.arguments, **more)  # type: ignore[operator]  # it is called

    def restore(self) -> None:
        """Write the first values back to all fields that a call writes."""
        for name, field in self.outputs():
            field.ndarray[...] = self.before[name]

    def results(self) -> Values:
        """Return copies of the fields that a call writes, on the host."""
        return {name: np.array(field.asnumpy()) for name, field in self.outputs()}

    def outputs(self) -> Iterator[tuple[str, Field]]:
        """Yield the fields that a call writes, by name."""
        yield from _outputs(self.entry, self.arguments)

    def expected(self) -> Values:
        """Return what the reference writes; it works on copies on the host.

        That is the backend 'reference', which interprets the program and takes a hundred times as
        long as compiled code. With large fields the native core interprets its loops.
        """
        copies: dict[int, Any] = {}
        arguments = {n: map_leaves(_copier(copies), v) for n, v in self.arguments.items()}
        provider = self.provider and {n: _table(each) for n, each in self.provider.items()}
        points = sum(leaf.ndarray.size for leaf in copies.values())
        entry: Any = self.on(reference if points <= MOST_POINTS else ROWS)
        entry(**arguments, **({} if provider is None else {"offset_provider": provider}))
        return {name: field.asnumpy() for name, field in _outputs(self.entry, arguments)}

    def synchronise(self) -> None:
        """Wait for the device that the fields lie on."""
        kinds = {field.device_type for _, field in self.outputs()}
        if kinds - {DeviceType.CPU, DeviceType.NULL}:
            from ...runtime import gpu

            gpu.Device(0).sync()

    @property
    def shapes(self) -> str:
        """The domains of all fields and the values of all other arguments, as text."""
        return ", ".join(
            f"{leaf_name(name, path)}={getattr(leaf, 'domain', leaf)}"
            for name, value in sorted(self.arguments.items())
            for path, leaf in leaves_of(value)
        )


def make_subject(program: Any, args: Mapping[str, Any]) -> Subject:
    """Return a subject; `args` are the arguments of a call by name, 'offset_provider' too."""
    given, program = dict(entry_arguments(program, args)), entry_of(program)
    provider = given.pop("offset_provider", None)
    if isinstance(program, SetUpProgram):
        entry: EntryPoint = program.program
        fixed = dict(program.request.fixed)
        provider = program._provider if provider is None else provider
    elif isinstance(program, EntryPoint):
        fixed = dict(program._made.bound)
        entry = program._changed(bound=()) if fixed else program
    else:
        raise ArgumentError(
            f"'tune' takes a program, an operator or a set-up, got a '{type(program).__name__}'."
        )
    for name in given.keys() & fixed.keys():
        raise ArgumentError(f"'{name}' of '{entry.__name__}' is bound already.")
    arguments = fixed | given
    missing = [name for name in entry._variants.shape.parameters if name not in arguments]
    if missing:
        raise ArgumentError(
            f"Tuning '{entry.__name__}' needs all arguments of a call; missing: "
            f"{', '.join(map(repr, missing))}."
        )
    before = {name: field.ndarray.copy() for name, field in _outputs(entry, arguments)}
    return Subject(entry, arguments, provider, before)


def _outputs(entry: EntryPoint, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Field]]:
    for name, start in written_by(entry._current()):
        for path, leaf in leaves_of(arguments.get(name)):
            if path[: len(start)] == start and isinstance(leaf, Field):
                yield leaf_name(name, path), leaf


def _copier(copies: dict[int, Any]) -> Callable[[Any], Any]:
    """Return a function that copies a field; one field that is given twice stays one field."""

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, Field):
            return leaf
        if id(leaf) not in copies:
            copies[id(leaf)] = as_field(leaf.domain, np.array(leaf.asnumpy()))
        return copies[id(leaf)]

    return copy


def _table(table: Any) -> Any:
    """Return a neighbour table on the host."""
    if not isinstance(table, Connectivity) or isinstance(table.ndarray, np.ndarray):
        return table
    return as_connectivity(
        table.domain.dims, table.codomain, table.asnumpy(), skip_value=table.skip_value
    )
