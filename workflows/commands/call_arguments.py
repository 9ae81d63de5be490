"""The arguments of a call on the command line: a function that makes them, or sizes and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import click
import numpy as np

from ...runtime.fields.constructors import as_field
from ...runtime.language import FieldType, ScalarType, Type, elements
from ...runtime.process.errors import DomainError
from ..builds.building import call_parameters
from ..entries.entry_point import EntryPoint
from .arguments import find_beside

SEED: Final = 20
_WORD: Final = re.compile(r"([\w.]+)=([^,\s]+)")


def read_arguments(words: str, entry: EntryPoint, program: str) -> dict[str, Any]:
    """Return the arguments of a call.

    Args:
        words: 'module:function', or ':function' in the module of the program, for a function
            without parameters that returns a dictionary; or sizes and scalars, as in
            'I=256, K=80, u.I=-1:257, dt=0.5', for fields of random numbers between 0 and 1; 'u.I'
            is the range of one field.
        entry: the program.
        program: its address.

    """
    if "=" in words:
        _refuse_tables(entry)
        return _random_arguments(dict(_WORD.findall(words)), entry)
    where, make = find_beside(words, program)
    made = make()
    if not isinstance(made, Mapping):
        raise click.BadParameter(f"'{where}' returned a '{type(made).__name__}', not a dictionary.")
    return dict(made)


@contextmanager
def hinted_ranges(words: str | None) -> Iterator[None]:
    """Add to an error of a field's domain how the words of a command line give ranges."""
    try:
        yield
    except DomainError as error:
        if words is not None and "=" in words:
            error.add_note("Hint: A field takes a range of its own: '--args \"..., u.I=-1:257\"'.")
        raise


def _refuse_tables(entry: EntryPoint) -> None:
    names = [name for name, is_needed in entry._variants.shape.summary.tables if is_needed]
    if names:
        raise click.UsageError(
            f"'{entry.__name__}' reads the neighbour tables {', '.join(map(repr, names))}, which "
            "sizes do not give: name a function that returns the arguments, and the tables as "
            "'offset_provider'."
        )


def _random_arguments(given: Mapping[str, str], entry: EntryPoint) -> dict[str, Any]:
    random = np.random.default_rng(SEED)
    parameters = call_parameters(entry._variants.shape.summary)
    return {name: _value(name, type_, given, random, entry) for name, type_ in parameters}


def _value(
    name: str, type_: Type, given: Mapping[str, str], random: np.random.Generator, entry: EntryPoint
) -> Any:
    if isinstance(type_, ScalarType):
        return _scalar(name, type_, given)
    if not isinstance(type_, FieldType) or elements(type_) is not None:
        raise click.BadParameter(
            f"'{name}' is a '{type_}'; name a function that returns the arguments instead."
        )
    domain = {dim: _range(name, dim.value, given) for dim in type_.dims}
    shape = [stop - start for start, stop in domain.values()]
    drawn = random.random(shape)
    values = drawn < 0.5 if type_.dtype.name == "bool" else drawn.astype(type_.dtype.name)
    allocator = entry.backend.allocator if entry.backend is not None else None
    return as_field(domain, values, allocator=allocator)


def _scalar(name: str, type_: ScalarType, given: Mapping[str, str]) -> Any:
    if name not in given:
        raise click.BadParameter(f"Parameter '{name}' ({type_}) has no value: add '{name}=...'.")
    if type_.name == "bool":
        return given[name].lower() in ("1", "true")
    try:
        return np.dtype(type_.name).type(given[name])
    except ValueError as error:
        raise click.BadParameter(f"'{name}={given[name]}' is no '{type_}'.") from error


def _range(field: str, dim: str, given: Mapping[str, str]) -> tuple[int, int]:
    own = f"{field}.{dim}"
    if own not in given and dim not in given:
        raise click.BadParameter(f"Dimension '{dim}' of '{field}' has no size: add '{dim}=...'.")
    text = given.get(own) or given[dim]
    start, colon, stop = text.rpartition(":")
    try:
        return int(start) if colon else 0, int(stop)
    except ValueError as error:
        raise click.BadParameter(f"'{dim}={text}' is no size, nor START:STOP.") from error
