"""Build variants of one decorated function, and remember which there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from ...runtime.fields.bare_array import with_fields
from ...runtime.language.definition import Definition
from ...runtime.language.types import Type
from ...runtime.process import hooks
from ...runtime.process.errors import FieldforgeError
from ...runtime.process.settings import current
from ...stages.artifacts import Variant
from ...stages.parse.summary import Summary
from ..backends.backend import Backend
from ..engine.building import OUT, build, call_parameters, summary
from ..engine.engine import Engine
from ..engine.session import engine
from .alike import Groups, alike_outputs, all_alike
from .dry_run import note
from .known_domains import ranges_of, ranges_told
from .static_arguments import Static, spelled
from .tables import tables_of
from .variants import default_variant, variant_of, why

if TYPE_CHECKING:  # most programs are built by their first call, see decision 0005
    from ..batches.background import Build


Provider: TypeAlias = Mapping[str, Any] | None


COMPILE = "asked for by 'compile'"


class NotCompiledError(FieldforgeError, RuntimeError):
    """A call needs a variant that was not compiled, and may not compile it."""


@attrs.define(eq=False)
class Variants:
    """The variants of one function under one backend.

    `source` gives the definition as it is now; `add` takes each new entry, `drop` forgets them
    all, and is called where what threads see of both must agree; `static` are
    the parameters whose values are compiled in. `alike` are the outputs of an operator
    that are written on the same ranges; None for all. With `static_domains` the domains of
    all fields are compiled in.
    """

    source: Callable[[], Definition]
    backend: Backend | None
    enable_jit: bool | None
    parameters: tuple[str, ...]
    add: Callable[[Variant, Any], Any] = lambda *_: None
    drop: Callable[[], Any] = lambda: None
    static: tuple[str, ...] = ()
    alike: Groups | None = None
    static_domains: bool = False
    build_budget: float | None = None
    table: dict[Variant, Any] = attrs.field(factory=dict)
    reasons: dict[Variant, str] = attrs.field(factory=dict)
    _under_way: dict[Variant, Build] = attrs.field(factory=dict)
    _summary: Summary | None = None
    _age: int = 0
    _adding: Any = attrs.field(factory=RLock, init=False)  # what is dropped may call again

    @property
    def summary(self) -> Summary:
        """What calls have to know of the function."""
        found = self._summary
        if found is None:
            found = self._summary = summary(self.source())
        return found

    @property
    def types(self) -> Mapping[str, Type]:
        """The types of the function's own parameters."""
        return dict(self.summary.signature.parameters)

    @property
    def budget(self) -> float:
        """The seconds that a build may take."""
        own = self.build_budget
        return current().build_budget if own is None else own

    def variant(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        provider: Provider,
    ) -> Variant:
        """Describe the arguments of a call."""
        tables = tables_of(provider, self.summary.tables)
        values = self.with_fields({**dict(zip(self.parameters, args, strict=False)), **kwargs})
        static = self.static_of(values) if self.static else ()
        found = variant_of(self.parameters, (), values, tables, static)
        # where a call gives a domain, its bounds are what was compared already
        alike = self._alike() if found.domain else alike_outputs(self._alike(), values)
        return self._on_domains(attrs.evolve(found, alike=alike), values)

    def with_fields(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments by name with fields where arrays were given for them."""
        types = dict(call_parameters(self.summary))
        return {name: with_fields(types.get(name), value) for name, value in values.items()}

    def default(
        self, provider: Provider, static: Static = (), domains: Mapping[Any, Any] | None = None
    ) -> Variant:
        """Return the variant for fields that our own constructors have made.

        `domains` are those that are compiled in, as `ranges_told` takes them.
        """
        known = self.summary
        parameters = call_parameters(known)
        found = default_variant(parameters, False, tables_of(provider, known.tables), static)
        ranges = () if domains is None else ranges_told(self.source().name, parameters, domains)
        return attrs.evolve(found, alike=self._alike(), ranges=ranges)

    def entry(
        self,
        variant: Variant,
        provider: Provider = None,
        reason: str = "",
        used: Engine | None = None,
    ) -> Any:
        """Return the entry of a variant, built if there is none yet; a call gives no reason."""
        with self._adding:
            found = self.table.get(variant)
        if found is None and variant in self._under_way:
            found = self._awaited(variant)
        if found is not None:
            return found
        return self._build(variant, used or engine(), provider, reason)

    def begin(self, wanted: Iterable[tuple[Variant, Provider]]) -> None:
        """Start to build variants; those that are there or under way already are an error."""
        from ..batches import background
        from ..batches.orders import Order

        assert self.backend is not None, "embedded functions are not built"
        wanted, used, definition = list(wanted), engine(), self.source()
        name = definition.name
        for variant, _ in wanted:
            if variant in self:
                raise ValueError(
                    f"'{name}' is compiled already for {described(variant) or 'any arguments'}."
                )
        for variant, provider in wanted:
            if note(definition, self.backend, variant):
                continue
            task = _Task(self, variant, used, provider)
            order = Order(definition, self.backend, variant, used, task)
            self._under_way[variant] = background.begin(order)

    def on_miss(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Build what a call needs and return it; the call is then tried again.

        It may be there by now: another thread has built it since the call looked.
        """
        provider = kwargs.get("offset_provider")
        variant = self.variant(args, kwargs, provider)
        self.allow(variant, kwargs.get("enable_jit"))
        return self.entry(variant, provider)

    def allow(self, variant: Variant, enable_jit: bool | None) -> None:
        """Refuse to compile at a call where that is switched off; what the call says wins.

        What was compiled for one layout of the fields may be compiled for another: layouts are
        ours to choose, and a model that passes a view of an array need not know of them.
        """
        choices = (enable_jit, self.enable_jit, current().enable_jit)
        allowed = next(choice for choice in choices if choice is not None)
        if not allowed and not self._has_but_for_layout(variant):
            name = self.source().name
            raise NotCompiledError(
                f"No program compiled for this set of static arguments of '{name}': "
                f"{described(variant) or 'none'}.",
                hints=[f"Call '{name}.compile()' first, or allow it with 'enable_jit=True'."],
            )

    def _has_but_for_layout(self, variant: Variant) -> bool:
        known = (*self.table, *self._under_way)
        return variant in known or attrs.evolve(variant, unit=(), alike=()) in {
            attrs.evolve(each, unit=(), alike=()) for each in known
        }

    def forget(self) -> None:
        """Begin anew: the function is no longer what it was."""
        with self._adding:
            self._age += 1
            self.table.clear()
            self.reasons.clear()
            self._under_way.clear()
            self._summary = None
            self.drop()

    def __contains__(self, variant: Variant) -> bool:
        return variant in self.table or variant in self._under_way

    @property
    def text(self) -> str:
        """The variants that there are, one a line, and why each was built."""
        with self._adding:
            known = [(variant.text, self.reasons[variant]) for variant in self.table]
        rows = [
            f"{text.replace(chr(10), '; ') or 'any layout'}  ({reason})" for text, reason in known
        ]
        return "\n".join(f"  {number}  {row}" for number, row in enumerate(rows)) or "  none yet"

    def _build(self, variant: Variant, used: Engine, provider: Provider, reason: str = "") -> Any:
        assert self.backend is not None, "embedded functions are not built"
        self.source()  # may notice that it has changed
        age, definition = self._age, self.source()
        note(definition, self.backend, variant)
        if hooks.compile_variant_hook:
            from .program_pool import pool_of  # made of this module

            pool, static = pool_of(self), dict(variant.static)
            hooks.compile_variant_hook(pool, variant, self.backend, static, provider or {})
        made = build(definition, self.backend, variant, used, self.budget)
        with self._adding:  # who finds it in the table finds it in the native program too
            if age != self._age:
                return made  # of a function that has changed since; the next call builds anew
            self.reasons.setdefault(variant, reason or why(variant, tuple(self.table)))
            known = self.table.setdefault(variant, made)
            if known is made:
                self.add(variant, made)
        return known

    def _awaited(self, variant: Variant) -> Any:
        """Wait for a build under way; one that failed has told so, and the next call tries anew."""
        under_way = self._under_way[variant]
        try:
            return under_way.result()
        finally:
            self._under_way.pop(variant, None)

    def _on_domains(self, variant: Variant, values: Mapping[str, Any]) -> Variant:
        """Compile domains in where that was asked for: of all calls, or by 'compile' of these."""
        if not self.static_domains and not any(
            each.ranges for each in (*self.table, *self._under_way)
        ):
            return variant
        known = attrs.evolve(variant, ranges=ranges_of(self.parameters, values))
        return known if self.static_domains or known in self else variant

    def _alike(self) -> Groups:
        """Return the outputs that are taken to be written on the same ranges."""
        result = self.summary.signature.result
        if result is None:
            return self.summary.outputs
        return all_alike(OUT, result) if self.alike is None else self.alike

    def static_of(self, values: Mapping[str, Any]) -> Static:
        """Return the static leaves of a call; values that are no numbers are refused later."""
        types = self.types
        try:
            found = [spelled(types, name, values[name]) for name in sorted(self.static)]
        except (KeyError, ValueError, OverflowError, TypeError):
            return ()
        return tuple(leaf for leaves in found for leaf in leaves)


@attrs.frozen(eq=False)
class _Task:
    """One build in the background."""

    variants: Variants
    variant: Variant
    engine: Engine
    provider: Provider

    def __call__(self) -> Any:
        return self.variants._build(self.variant, self.engine, self.provider, COMPILE)


def described(variant: Variant) -> str:
    """Say which variant it is: by its static arguments if it has any."""
    if variant.static:
        return ", ".join(f"{name}={value}" for name, value in variant.static)
    return variant.text.replace("\n", ", ")
