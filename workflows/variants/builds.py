"""`Variants`: find, build or refuse the variants of one function under one backend."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ...runtime.process import CompilerNotFoundError, FieldforgeError, classes, current, hooks
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from ..backends.first_tier import tiers_of, why_no_first_tier
from ..builds.building import build, describe_variant, entry_flow, inputs_of
from ..engine.deep import Shortcut
from ..engine.engine import Engine, engine
from ..engine.events import TierChanged
from ..engine.handle import Result
from ..engine.policy import NotStoredError, has_policy
from .call_shape import CallShape, Provider, check_names, spelled
from .dry_run import note_build
from .naming import needed, unbounded
from .table import EntrySink, ProgramPool, VariantTable, pool_of

COMPILE: Final = "asked for by 'compile'"
SHOWN: Final = 4  # values of a static argument in the table of variants
MANY: Final = 8  # variants by values of one static argument, from which calls warn


class ManyVariantsWarning(UserWarning):
    """Calls of one program keep passing new values of a static argument."""


class NotCompiledError(FieldforgeError, RuntimeError):
    """A call needs a variant that was not compiled, and may not compile it."""


@classes.define(eq=False)
class Variants:
    """The variants of one function under one backend.

    Attributes:
        shape: the parameters of the function.
        backend: builds the variants; None for embedded functions.
        enable_jit: whether calls may build; None takes the setting of the process.
        build_budget: seconds a build may take before it warns; None takes the setting.
        sink: the native program that holds the same entries, if the backend has one.
        hears: receives each variant that is built or loaded, and the results by stage.

    """

    shape: CallShape
    backend: Backend | None
    enable_jit: bool | None = None
    build_budget: float | None = None
    sink: EntrySink | None = None
    hears: Callable[[Variant, Mapping[str, Result]], None] | None = None
    table: VariantTable = classes.field(init=False)
    _has_warned: bool = classes.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.table = VariantTable(self.sink)

    @property
    def budget(self) -> float:
        """The seconds that a build may take."""
        own = self.build_budget
        return current().build_budget if own is None else own

    @property
    def pool(self) -> ProgramPool:
        """The variants that are built, as hooks and metrics see them."""
        return pool_of(self.shape.source().name, self.backend, self.table)

    def static_text(self, reasons: Mapping[str, str]) -> list[str]:
        """Return which arguments are static, why, how many values each has, and what one costs."""
        found = dict(unbounded(self.table.entries, 1))
        values: dict[str, tuple[str, ...]] = {}
        for leaf, own in found.items():
            values.setdefault(leaf.partition(".")[0], own)
        lines = []
        for name in self.shape.static:
            own = tuple(sorted(values.get(name, ())))
            shown = f": {', '.join(own[:SHOWN])}{', ...' * (len(own) > SHOWN)}" if own else ""
            why = f"; {reasons[name]}" if name in reasons else ""
            count = f"{len(own)} value{'s' * (len(own) != 1)}" if own else "no value built yet"
            lines.append(f"static {name}: {count}{shown}{why}")
        if lines:
            seconds = list(self.table.seconds.values())
            cost = f", in about {sum(seconds) / len(seconds):.2f} s" if seconds else ""
            lines.append(f"a new value compiles a variant{cost}")
        return lines

    def drop(self, static: Mapping[str, Any]) -> int:
        """Drop the variants with these values of static arguments, all without any."""
        types = self.shape.types
        check_names(types, static, self.shape.source().name)
        wanted = {leaf for name, value in static.items() for leaf in spelled(types, name, value)}
        return self.table.drop(lambda variant: wanted <= set(variant.static))

    def allow_jit(self, allowed: bool) -> None:
        """Let calls build missing variants from now on, or refuse such calls."""
        self.enable_jit = allowed

    def variant(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], provider: Provider
    ) -> Variant:
        """Return the variant that a call needs.

        Domains are compiled in if the option `static_domains` is set, or `compile` was given
        exactly these.
        """
        shape, values = self.shape, self.shape.by_name(args, kwargs)
        found = shape.variant(values, provider)
        if shape.static_domains:
            return shape.with_ranges(found, values)
        if not any(each.ranges for each in self.table.variants):
            return found
        known = shape.with_ranges(found, values)
        return known if known in self.table else found

    def entry(
        self,
        variant: Variant,
        provider: Provider = None,
        reason: str = "",
        used: Engine | None = None,
    ) -> Any:
        """Return the entry of a variant, built if it is missing; a call gives no reason."""
        found = self.table.find(variant)
        if found is not None:
            if self.backend is not None:
                note_build(self.shape.source(), self.backend, variant)
            return found
        return self.build(variant, used or engine(), provider, reason)

    def on_miss(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Add the variant that a call needs; the native core then tries the call again.

        Another thread may have built it since the core looked.
        """
        provider = kwargs.get("offset_provider")
        variant = self.variant(args, kwargs, provider)
        self.allow(variant, kwargs.get("enable_jit"))
        return self.serve(variant, provider)

    def serve(self, variant: Variant, provider: Provider) -> Any:
        """Return the entry that a call takes: the first tier's, until compiled code is there."""
        if self.backend is None or variant in self.table:
            return self.entry(variant, provider)
        found = self.table.entries.get(variant)
        if found is None:
            found = self._first(variant, provider, self.backend)
        return self.entry(variant, provider) if found is None else found

    def _first(self, variant: Variant, provider: Provider, backend: Backend) -> Any:
        """Return a new entry: of the store, or of the first tier; None if the call has to wait."""
        tiers = tiers_of(backend)
        if tiers == "compiled" or not current().jobs or has_policy():
            return None
        reason = why_no_first_tier(backend)
        if reason is not None:
            self.table.tiers[variant] = f"no first tier: {reason}"
            return None
        self.shape.source()  # may read the function again, which drops the entries
        age, definition, used = self.table.age, self.shape.source(), engine()
        no_compiler: CompilerNotFoundError | None = None
        if tiers == "both":
            inputs, found = inputs_of(definition, variant), None
            try:
                found = used.look(entry_flow(backend), inputs, program=definition.name)
            except CompilerNotFoundError as error:
                no_compiler = error
            if found is not None and found.results:
                return self.build(variant, used, provider, "", found)
        from ..builds.order import Order  # a call from the store imports neither, decision 0005
        from .stand_in import StandIn, stand_in

        order = Order(definition, backend, variant, used, _Task(self, variant, used, provider, ""))
        made = stand_in(order, self.table.stands_in, tiers, no_compiler)
        if not isinstance(made, StandIn):
            self.table.tiers[variant] = f"no first tier: {made}"
            return None
        note_build(definition, backend, variant)
        return self.table.add_stand_in(variant, made, age)

    def begin(self, wanted: Iterable[tuple[Variant, Provider]]) -> None:
        """Start builds in the background; `ValueError` if one is built or in progress."""
        from ..builds import background
        from ..builds.order import Order

        assert self.backend is not None, "embedded functions are not built"
        used, definition, backend = engine(), self.shape.source(), self.backend
        wanted = [row for row in wanted if not note_build(definition, backend, row[0])]
        for variant, _ in wanted:
            if variant in self.table:
                raise ValueError(
                    f"'{definition.name}' is compiled already for "
                    f"{describe_variant(variant) or 'any arguments'}; compile before the first "
                    f"call, or by 'precompile', which skips what is there."
                )
        for variant, provider in wanted:
            task = _Task(self, variant, used, provider)
            order = Order(definition, backend, variant, used, task, is_alone=True)
            self.table.begin(variant, background.begin(order))

    def begin_awaited(self, arguments: Mapping[str, Any], provider: Provider) -> None:
        """Start in the background the build that a call will wait for, if there is one."""
        if self.backend is None or tiers_of(self.backend) != "compiled":
            return
        variant = self.variant((), arguments, provider)
        if current().jobs and not has_policy() and variant not in self.table:
            self.begin([(variant, provider)])

    def allow(self, variant: Variant, enable_jit: bool | None) -> None:
        """Refuse a call that would build where that is off; the call's own choice comes first.

        A call may build another layout of a variant that `compile` has built: layouts are our
        choice, and a model that passes views of arrays need not know them.
        """
        choices = (enable_jit, self.enable_jit, current().enable_jit)
        allowed = next(choice for choice in choices if choice is not None)
        if not allowed and not self._has_but_for_layout(variant):
            name = self.shape.source().name
            known = tuple(self.table.entries)
            because = f" The call needs {needed(variant, known)}." if known else ""
            raise NotCompiledError(
                f"No program compiled for this set of static arguments of '{name}': "
                f"{describe_variant(variant) or 'none'}.{because}",
                hints=[
                    f"Compile it before, by '{name}.compile(...)' or by a value of 'static_args' "
                    "of 'setup', or allow it with 'enable_jit=True'."
                ],
            )

    def _has_but_for_layout(self, variant: Variant) -> bool:
        known = self.table.variants
        return variant in known or classes.evolve(variant, unit=(), alike=()) in {
            classes.evolve(each, unit=(), alike=()) for each in known
        }

    def forget(self) -> None:
        """Drop all entries and the signature: the function has changed."""
        self.shape.forget()
        self.table.forget()

    def build(
        self,
        variant: Variant,
        used: Engine,
        provider: Provider,
        reason: str,
        found: Shortcut | None = None,
    ) -> Any:
        """Build a variant, add its entry to the table and return it.

        `found` is the deep record, if somebody has looked it up.
        """
        assert self.backend is not None, "embedded functions are not built"
        self.shape.source()  # may read the function again, which drops the entries
        age, definition = self.table.age, self.shape.source()
        note_build(definition, self.backend, variant)
        if hooks.compile_variant_hook:
            static = dict(variant.static)
            hooks.compile_variant_hook(self.pool, variant, self.backend, static, provider or {})
        told: list[Mapping[str, Result]] = []
        try:
            made = build(definition, self.backend, variant, used, self.budget, told.append, found)
        except NotStoredError as error:
            known = tuple(self.table.entries)
            raise error.explained(f"It is needed for {needed(variant, known)}.") from None
        stood = self.table.entries.get(variant)
        added = self.table.add(variant, made, reason, age)
        self.table.seconds[variant] = sum(each.build_seconds for each in told[0].values())
        if self.hears is not None:
            self.hears(variant, told[0])
        ran = None if stood is None or added is not made else stood.first_tier
        if ran is not None:
            stage = entry_flow(self.backend).plan[-1].name
            used.tell(TierChanged(definition.name, stage, variant.text, *ran))
        if not reason:  # a call asked for it, no `compile`
            self._warn_of_many(definition.name)
        return added

    def _warn_of_many(self, name: str) -> None:
        """Warn once if calls keep passing new static values."""
        values = unbounded(self.table.entries, MANY)
        if values and not self._has_warned:
            self._has_warned = True
            (argument, found), *_ = values.items()
            warnings.warn(
                f"Calls of '{name}' have compiled {len(found)} variants for the values of its "
                f"static argument '{argument}' ({', '.join(found[:3])}, ...). If it takes ever new "
                "values, do not make it static.",
                ManyVariantsWarning,
                stacklevel=2,
            )


@classes.frozen(eq=False)
class _Task:
    """One build in the background."""

    variants: Variants
    variant: Variant
    engine: Engine
    provider: Provider
    reason: str = COMPILE

    def __call__(self) -> Any:
        return self.variants.build(self.variant, self.engine, self.provider, self.reason)
