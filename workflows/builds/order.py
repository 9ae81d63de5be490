"""`Order`: one variant of one program that is to be there, made from lists of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs

from ...runtime.language.definition import Definition
from ...runtime.process.errors import ArgumentError
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from ..engine.building import entry_flow, inputs_of
from ..engine.deep import Shortcut
from ..engine.engine import Engine
from ..engine.policy import NotStoredError, current_policy
from ..engine.request import Reply, Request, make_request
from ..entries.entry_point import EntryPoint
from ..entries.variant_table import Provider, described
from ..graph.graph import Workflow


@attrs.frozen(eq=False)
class Order:
    """A program, and what its build depends on beside its source.

    `finish` gives the program what was built, so that calls find it.
    """

    definition: Definition
    backend: Backend
    variant: Variant
    engine: Engine
    finish: Callable[[], Any] = attrs.field(repr=False)

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.definition.name

    @property
    def about(self) -> str:
        """Which variant it is, for people."""
        return described(self.variant)

    @property
    def flow(self) -> Workflow:
        """The stages that give the entry."""
        return entry_flow(self.backend)

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the stages need from outside."""
        return inputs_of(self.definition, self.variant)

    def look(self) -> Shortcut | None:
        """Look the whole build up."""
        return self.engine.look(self.flow, self.inputs, program=self.name)

    def is_stored(self) -> bool:
        """Tell whether the whole build is in the store under one record."""
        found = self.look()
        return found is not None and bool(found.results)

    def missing(self) -> NotStoredError | None:
        """Return what would have to run, None when everything is in the store; loads nothing."""
        try:
            self._prepare("must_hit")
        except NotStoredError as error:
            return error
        return None

    def request(self) -> Request | None:
        """Return what is left to do once the definition is read; None if that must happen here."""
        return make_request(self.engine, self.flow, self.inputs, self.name)

    def build(self) -> Any:
        """Build it in this process, or take it from the store, and give it to the program."""
        if current_policy() == "build_only":
            return self._prepare("may_build")
        return self.finish()

    def take(self, reply: Reply) -> Any:
        """Take in what another process built."""
        reply.admit(self.engine)
        return self.build()

    def _prepare(self, policy: Any) -> None:
        self.engine.run(self.flow, self.inputs, program=self.name, load=False, policy=policy)


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
    """Yield the orders for a program with the arguments of its `compile`."""
    if not isinstance(program, EntryPoint):
        raise ArgumentError(
            f"Expected a program or operator, got an object of type '{type(program).__name__}'.",
            hints=["Decorate the function with 'program' or 'field_operator'."],
        )
    from ..engine.session import engine

    used = engine()
    for variant, provider in program.wanted(offset_provider, static, domains):
        yield _order(program, variant, provider, used)


def _order(program: EntryPoint, variant: Variant, provider: Provider, used: Engine) -> Order:
    backend = program.backend
    assert backend is not None, "'wanted' refuses programs without a backend"
    return Order(
        program.__definition__,
        backend,
        variant,
        used,
        lambda: program.provide(variant, provider, used),
    )
