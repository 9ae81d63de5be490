"""Arguments that several commands take, those of calls, and how a command reports errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import numpy as np

from ...cache.memory import Memory
from ...cache.store import Store
from ...runtime.fields import as_field
from ...runtime.language import FieldType, ScalarType, Type, elements
from ...runtime.meshes import isolated
from ...runtime.process import DomainError, FieldforgeError, OptionError, read_size
from ..backends.backend import BACKENDS, Backend, find_backend
from ..batches.addresses import AddressError, find, load_module
from ..batches.orders import with_some_backend
from ..builds.building import call_parameters
from ..engine.engine import Engine, using
from ..entries.entry_point import EntryPoint, entry_of
from ..variants.tables import Table, TableKind, tables_of
from .mesh_order import read_mesh

T = TypeVar("T")


def report_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a `FieldforgeError` into its message and exit code 1, without a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except FieldforgeError as error:
            notes = getattr(error, "__notes__", ())
            raise click.ClickException("\n".join([str(error), *notes])) from error

    return run


class Size(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """A number of bytes, or of K, M, G or T of them."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number; anything else is an error of this option."""
        try:
            return value if isinstance(value, int) else read_size("--size", value)
        except OptionError:
            self.fail(f"Expected a number of bytes, such as 500M or 2G, got '{value}'.", param, ctx)


program_argument = click.argument("program", metavar="MODULE:PROGRAM")
backend_option = click.option(
    "--backend",
    type=click.Choice(sorted(BACKENDS)),
    help="Use this backend instead of the program's own (default for embedded programs: cpu).",
)


def find_program(program: str, backend: str | None, store: Store | None = None) -> EntryPoint:
    """Import a program by its address; programs without a backend get `backend` or 'cpu'.

    Lookups of the decorators go to `store`, by default to memory: the user's store sees only
    what the command does afterwards.
    """
    where, colon, name = program.rpartition(":")
    if not colon or not where or not name:
        raise click.BadParameter(f"Expected 'MODULE:PROGRAM', got '{program}'.")
    with using(Engine(store or Memory())):
        module = _found(load_module, where)
    found = with_some_backend(getattr(module, name, None), backend)
    if found is None:
        known = [
            key
            for key, value in sorted(vars(module).items())
            if isinstance(entry_of(value), EntryPoint)
        ]
        raise click.BadParameter(
            f"'{where}' has no program or operator '{name}'; it has {', '.join(known) or 'none'}."
        )
    return found


def backend_of(entry: EntryPoint) -> Backend:
    """Return the backend of a program that `find_program` returned."""
    found = find_backend(entry.backend)
    assert found is not None, "'find_program' gives every program a backend"
    return found


def find_thing(address: str) -> Any:
    """Return the object at an address; without one, the argument is refused."""
    return _found(find, address)


def find_beside(words: str, program: str) -> tuple[str, Any]:
    """Return an address, and the object there; ':name' is beside a program."""
    where = f"{program.rpartition(':')[0]}{words}" if words.startswith(":") else words
    return where, find_thing(where)


def _found(look: Callable[[str], T], address: str) -> T:
    try:
        return look(address)
    except AddressError as error:
        raise click.BadParameter(str(error)) from error


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


tables_option = click.option(
    "--tables",
    metavar="FILE|NAME=NEIGHBOURS,...",
    help="Neighbour tables that the program reads: a mesh file (NetCDF or .npz), a level as R2B4, "
    "':name' of a dictionary, or of a function that returns one, or numbers of neighbours, as in "
    "'C2E=3, V2E=6?', where '?' says that some may be missing. Not needed after a call or "
    "'compile' in the module.",
)
_SIZES: Final = re.compile(r"\s*(\w+)\s*=\s*(\d+)(\?)?\s*")


def with_tables(entry: EntryPoint, words: str | None, address: str) -> EntryPoint:
    """Return the program with the tables that `words` tell, or with those that it has seen.

    Raises:
        click.UsageError: the program reads tables that are not known.

    """
    known = entry._tables(None) or {}
    names = [name for name, is_needed in entry._variants.shape.summary.tables if is_needed]
    told = {**known, **(read_tables(words, names, address) if words else {})}
    missing = [name for name in names if name not in told]
    if missing:
        shown = ",".join(f"{name}=2" for name in missing)
        raise click.UsageError(
            f"'{entry.__name__}' reads the neighbour tables {', '.join(map(repr, missing))}: give "
            f"a mesh with '--tables FILE', or numbers of neighbours, as in '--tables {shown}'."
        )
    return entry.with_compilation_options(connectivities=told) if names else entry


def known_tables(entry: EntryPoint, words: str | None, address: str) -> tuple[Table, ...]:
    """Return what builds need to know of the tables that a program reads, see `with_tables`."""
    found = with_tables(entry, words, address)
    return tables_of(found._tables(None), found._variants.shape.summary.tables)


def read_tables(words: str, names: list[str], address: str) -> Mapping[str, Any]:
    """Return tables, or what builds need to know of them, by name.

    >>> read_tables("C2E=3, V2E=6?", ["C2E", "V2E"], "model.py:step")["V2E"]
    TableKind(max_neighbors=6, skip_value=-1)
    """
    if "=" in words:
        return dict(_sizes(words))
    if ":" in words:
        where, found = find_beside(words, address)
        made = found() if callable(found) else found
        if not isinstance(made, Mapping):
            kind = type(made).__name__
            raise click.BadParameter(f"'{where}' gives a '{kind}', no dictionary of tables.")
        return made
    if Path(words).suffix in (".nc", ".nc4"):
        tables: Mapping[str, Any] = isolated.read_mesh(words).with_tables(*names).tables
    else:
        tables = read_mesh(words)
    return {name: _kind(table) for name, table in tables.items()}


def _sizes(words: str) -> Iterator[tuple[str, TableKind]]:
    for each in words.split(","):
        found = _SIZES.fullmatch(each)
        if found is None:
            raise click.BadParameter(f"'{each.strip()}' is not NAME=NEIGHBOURS, such as 'C2E=3'.")
        name, count, may_miss = found.groups()
        yield name, TableKind(int(count), -1 if may_miss else None)


def _kind(table: Any) -> TableKind:
    array = np.asarray(table)
    return TableKind(int(array.shape[-1]), -1 if bool((array < 0).any()) else None)
