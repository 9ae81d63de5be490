"""Arguments that several commands take, and how a command reports errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from ...cache.memory import Memory
from ...cache.store import Store
from ...runtime.process.errors import FieldforgeError, OptionError
from ...runtime.process.settings import read_size
from ..backends.backend import BACKENDS, Backend, find_backend
from ..batches.addresses import AddressError, find, load_module
from ..batches.orders import with_some_backend
from ..engine.engine import Engine
from ..engine.session import using
from ..entries.entry_point import EntryPoint, entry_of

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
