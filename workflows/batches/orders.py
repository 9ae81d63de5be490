"""Turn programs, with the arguments of `compile`, into build orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...runtime.calls.call_limits import Limited
from ...runtime.process.errors import ArgumentError
from ..builds.order import Order
from ..engine.session import engine
from ..entries.bound_program import BoundProgram
from ..entries.entry_point import EntryPoint, entry_of


def orders(programs: Iterable[Any]) -> Iterator[Order]:
    """Yield the orders of programs, and of pairs of a program and the arguments of `compile`.

    orders([diffusion, (advection, {"n": [1, 2]})])
    """
    for item in programs:
        program, given = item if isinstance(item, tuple) else (item, {})
        yield from orders_of(program, **given)


def orders_of(
    program: Any, offset_provider: Any = None, domains: Any = None, **static: Any
) -> Iterator[Order]:
    """Yield one order for each variant that `program.compile` would build.

    A program with bound arguments, or a set-up, knows its variants.
    """
    used, program = engine(), entry_of(program)
    if isinstance(program, BoundProgram):
        for variant, provider in program.wanted():
            yield program.program.order(variant, provider, used)
        return
    if not isinstance(program, EntryPoint):
        raise ArgumentError(
            f"Expected a program or operator, got an object of type '{type(program).__name__}'.",
            hints=["Decorate the function with 'program' or 'field_operator'."],
        )
    for each in program.instances.values():
        for variant, provider in each.wanted(offset_provider, static, domains):
            yield each.order(variant, provider, used)


def with_some_backend(thing: Any, backend: str | None = None) -> EntryPoint | None:
    """Return the program of an object with `backend`, else its own, else 'cpu'; None if it is none.

    The object may also limit the calls of a program, or bind its arguments.
    """
    found = entry_of(thing.call if isinstance(thing, Limited) else thing)
    found = found.unbound() if isinstance(found, BoundProgram) else found
    if not isinstance(found, EntryPoint):
        return None
    if backend is None and found.backend is not None:
        return found
    known = found._tables(None)
    found = found.with_backend(backend or "cpu")
    return found.with_compilation_options(connectivities=known) if known else found
