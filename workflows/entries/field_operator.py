"""`FieldOperator`: a decorated operator, called with `out=` or inside other operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ...runtime.calls import observation
from ...runtime.fields import context
from ...runtime.fields.bare_array import with_fields
from ...runtime.language import Definition, FieldType, leaves
from ...runtime.process import MissingArgumentError, classes
from ..builds.building import OUT
from ..variants.builds import Variants
from ..variants.call_shape import CallShape
from ..variants.naming import Groups, alike_on, leaf_name
from .calls import Calls, domain_scalars, is_native, make_calls
from .decorated import Made, parameter_names
from .native_entry import NativeEntry
from .noting import note


class FieldOperator(NativeEntry):
    """An operator on fields; a call from Python is a program of one statement.

    The native core makes calls that write the whole of `out`; other calls go through Python.
    """

    _needs_last_by_name = True
    _on_part: dict[Groups | None, Calls]
    _scratch: dict[Any, list[Any]]

    def __new__(cls, made: Made) -> Self:
        """Make the operator."""
        self = cls._entry(made, (*parameter_names(made.definition.function), OUT))
        self._on_part, self._scratch = {}, {}
        return self

    def _call_in_python(
        self,
        *args: Any,
        out: Any = None,
        domain: Any = None,
        offset_provider: Mapping[str, Any] | None = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Write the result to `out`, whole or on `domain`; inside embedded operators return it."""
        if out is None:
            if context.active():
                from ...runtime.embedded import embedded  # compiled programs never import it

                return embedded.call_operator(self.__definition__, args, kwargs)
            raise MissingArgumentError(
                None, OUT, True, hints=[f"Call it as '{self.__name__}(..., out=field)'."]
            )
        self._renew()
        if self._is_captured:
            more = {"out": out, "domain": domain, "offset_provider": offset_provider}
            self._capture_first(args, {**kwargs, **more, "enable_jit": enable_jit})
            return None
        if self._is_checked:
            more = {"domain": domain, "offset_provider": offset_provider, "enable_jit": enable_jit}
            self.checked(*args, out=out, **kwargs, **more)
            return None
        if not is_native(self.backend) and not context.active():
            given = {"out": out, "domain": domain, "offset_provider": offset_provider}
            note(self, args, {**kwargs, **given})
        if observation.active():
            shown = {**kwargs, "out": out} | ({} if domain is None else {"domain": domain})
            with observation.program_call(self, args, shown, offset_provider, enable_jit):
                self._run(args, kwargs, out, domain, offset_provider, enable_jit)
        else:
            self._run(args, kwargs, out, domain, offset_provider, enable_jit)
        return None

    def _run(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
        domain: Any,
        provider: Mapping[str, Any] | None,
        enable_jit: bool | None,
    ) -> None:
        if self.backend is None or context.active():
            self._embedded(args, kwargs, out, domain, provider)
            return
        calls, more = self._calls_for(out, domain)
        calls(*args, offset_provider=provider, enable_jit=enable_jit, **kwargs, **more)

    def _calls_for(self, out: Any, domain: Any) -> tuple[Calls, dict[str, Any]]:
        """Return the calls that write `out` on `domain`, and the arguments that say so."""
        if domain is None:
            return self._calls, {OUT: out}
        out = with_fields(self._variants.shape.summary.signature.result, out)
        bounds = domain_scalars(out, domain)
        return self._calls_on_part(alike_on(OUT, out, bounds)), {OUT: out, **bounds}

    def _call_of(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Definition, CallShape, tuple[Any, ...], Mapping[str, Any]]:
        own = dict(kwargs)
        out, domain = own.pop(OUT), own.pop("domain", None)
        typed = self._typed(args, own)
        calls, more = typed._calls_for(out, domain)
        return typed._current(), calls.variants.shape, args, {**own, **more}

    def compile(self, *args: Any, on_part: bool = False, **kwargs: Any) -> Self:  # type: ignore[override]  # passes all on
        """Build for direct calls in the background; with `on_part` for calls with `domain=` too.

        Other arguments are those of a program's `compile`. Calls with one domain for all outputs
        use what `on_part` builds.
        """
        super().compile(*args, **kwargs)
        if on_part:
            from .compile_requests import requested_variants

            calls = self._calls_on_part(None)
            static = {name: v for name, v in kwargs.items() if name in self._variants.shape.types}
            wanted = requested_variants(
                self.__name__, calls.variants.shape, self._made.options,
                args[0] if args else kwargs.get("offset_provider"), static, None,
            )  # fmt: skip
            calls.variants.begin(
                (classes.evolve(each, domain=True), given) for each, given in wanted
            )
        return self

    def __fieldforge_evaluate__(self, domain: Any, arguments: Mapping[str, Any]) -> Any:
        """Return a field with the result, for reductions, and a function that gives it back."""
        from .evaluation import evaluate

        return evaluate(self, domain, arguments, self._scratch)

    def _typed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> FieldOperator:
        """Return the operator whose types are those of the arguments: itself."""
        return self

    def _embedded(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
        domain: Any,
        provider: Mapping[str, Any] | None,
    ) -> None:
        from ...runtime.embedded import embedded
        from .embedded_ranges import Call, explained_ranges

        definition = self.__definition__
        self._last_provider = provider or self._last_provider

        def call() -> Call:
            calls, more = self._typed(args, kwargs)._calls_for(out, domain)
            return calls.variants.shape, args, {**kwargs, **more}

        with (
            observation.embedded_call(self, args, kwargs, provider),
            explained_ranges(self.__name__, call, provider),
        ):
            embedded.run_operator(
                definition, args, kwargs, out=out, domain=domain, offset_provider=provider
            )

    def _calls_on_part(self, alike: Groups | None) -> Calls:
        """Return the calls with `domain=` whose bounds group the outputs in this way."""
        found = self._on_part.get(alike)
        if found is None:
            whole = self._variants.shape
            parameters = (*whole.parameters, *self._bounds())
            shape = self._shape(parameters, static=whole.static, alike=alike)
            made = make_calls(self.__name__, shape, self.backend, self._made.options, self._guard)
            found = self._on_part.setdefault(alike, made)
        return found

    @property
    def _variant_sets(self) -> tuple[Variants, ...]:
        on_part = tuple(self._on_part.values())
        return tuple(calls.variants for calls in (self._calls, *on_part))

    def _bounds(self) -> list[str]:
        """Return the names of the scalars with the bounds of a domain, in the order of `lower`."""
        result = self._variants.shape.summary.signature.result
        assert result is not None  # an operator has one
        return [
            f"domain.{leaf_name(OUT, path)}.{dim.value}.{end}"
            for path, leaf in leaves(result)
            if isinstance(leaf, FieldType)
            for dim in leaf.dims
            for end in ("start", "stop")
        ]

    def _forget(self) -> None:
        super()._forget()
        self._on_part = {}
