"""Turn programs, with the arguments of `compile`, into build orders, and list what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...cache.explain import Difference
from ...runtime.calls.call_limits import Limited
from ...runtime.process import ArgumentError, classes
from ..builds.order import Order
from ..engine.deep import STAGE
from ..engine.engine import engine
from ..engine.policy import NotStoredError
from ..engine.reasons import Reason, reason
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


@classes.frozen
class Missing:
    """A variant that is not in the store, the first stage that would run, and why."""

    program: str
    variant: str
    stage: str
    why: Reason

    @property
    def changed(self) -> tuple[Difference, ...]:
        """The components of the key that differ from the nearest build."""
        return self.why.changed

    def __str__(self) -> str:
        of = f" ({self.variant})" if self.variant else ""
        return f"{self.program}{of}: stage '{self.stage}' would run. {self.why}"


def check(programs: Iterable[Any]) -> tuple[Missing, ...]:
    r"""Return every variant of these programs that is not in the store, with the reason.

    Nothing is compiled or loaded. `precompile` describes the form of `programs`.

        missing = check([diffusion, advection])
        if missing:
            raise SystemExit("\n".join(map(str, missing)))

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=ff.cpu)
    ... def tripled(u: Line) -> Line:
    ...     return 3.0 * u
    >>> with ff.using(ff.Engine()):
    ...     (missing,) = check([tripled])
    >>> missing.stage, str(missing.why)
    ('lower', "'tripled' was never built into this store.")
    """
    found = (_missing(order) for order in orders(programs))
    return tuple(each for each in found if each is not None)


def _missing(order: Order) -> Missing | None:
    refused = order.missing()
    if refused is None:
        return None
    return Missing(order.name, order.about, refused.stage, why(order, refused))


def why(order: Order, refused: NotStoredError) -> Reason:
    """Compare an order with the nearest deep record, else with the nearest record of its stage."""
    whole = changes(order)
    if whole is not None and whole.record is not None:
        return whole
    return reason(order.engine.store, refused.kind, order.name, refused.components)


def changes(order: Order) -> Reason | None:
    """Compare an order with the nearest deep record; None if the build is stored. Runs nothing."""
    look = order.look()
    if look is None or look.results:
        return None
    return reason(order.engine.store, STAGE, order.name, look.components)
