"""Calls of one function under a backend: through the native core, or to a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...runtime import _core
from ...runtime.calls import observation
from ...runtime.calls.on_reject import reject
from ...runtime.language import leaves_of
from ...runtime.language.argument_binding import bind_arguments
from ...runtime.language.output_domains import domain_at, written_domain
from ...runtime.process import classes
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from ..builds.building import ENTRY, OUT
from ..variants.builds import Variants
from ..variants.call_shape import CallShape, Provider, static_rows
from ..variants.naming import leaf_name
from .decorated import CompilationOptions


def is_native(backend: Backend | None) -> bool:
    """Tell whether a backend gives entries for the native core, not Python functions."""
    if backend is None:
        return False
    stages = (stage for _, stage in backend.workflow.nodes if ENTRY in stage.provides)
    return any(issubclass(stage.provides[ENTRY], _core.Entry) for stage in stages)


@classes.frozen(eq=False)
class NativeEntries:
    """Hands each new entry to the native program that calls it, with its static values.

    `guard` makes the program watch the names that the function sees; None if it does already.
    """

    program: _core.Program
    shape: CallShape
    guard: Callable[[_core.Program], None] | None

    def add(self, variant: Variant, entry: Any) -> None:
        """Add an entry for the static values of its variant."""
        shape = self.shape
        rows = static_rows(shape.types, shape.static, variant.static)
        self.program.add(
            entry, [(shape.parameters.index(name), value, same) for name, value, same in rows]
        )
        if self.guard is not None:
            self.guard(self.program)

    def replace(self, before: Any, entry: Any) -> None:
        """Exchange an entry for another one of the same variant."""
        self.program.replace(before, entry)

    def forget(self) -> None:
        """Drop all entries."""
        self.program.forget()


@classes.frozen(eq=False)
class Calls:
    """Calls from Python: to the native program, or to the Python functions of the backend."""

    name: str
    variants: Variants
    native: _core.Program | None

    def __call__(
        self,
        *args: Any,
        offset_provider: Provider = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Call the variant for these arguments; build it if it is missing."""
        if observation.active():
            self._observed(args, kwargs, offset_provider, enable_jit)
        elif self.native is not None:
            self.native.call(
                *args, offset_provider=offset_provider, enable_jit=enable_jit, **kwargs
            )
        else:
            self._python(args, kwargs, offset_provider, enable_jit)

    def _python(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        provider: Provider,
        enable_jit: bool | None,
    ) -> None:
        """Call a backend that gives Python functions."""
        variants = self.variants
        named = bind_arguments(self.name, variants.shape.parameters, args, kwargs)
        ordered = tuple(variants.shape.with_fields(named).values())
        variant = variants.variant(ordered, {}, provider)
        variants.allow(variant, enable_jit)
        run: Callable[..., Any] = variants.entry(variant, provider)
        if variant.tables:
            run(*ordered, offset_provider=provider)
        else:
            run(*ordered)

    def _observed(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        provider: Provider,
        enable_jit: bool | None,
    ) -> None:
        """Call with hooks and metrics around the compiled code."""
        variants = self.variants
        named = bind_arguments(self.name, variants.shape.parameters, args, kwargs)
        variant = variants.variant(tuple(named.values()), {}, provider)
        variants.allow(variant, enable_jit)
        entry = variants.serve(variant, provider)
        root = self.name, variants.backend.name if variants.backend else ""
        around = observation.compiled_call(
            entry, args, kwargs, provider, root, variant, programs=variants.pool
        )
        with around:
            if self.native is not None:
                self.native.call(*args, offset_provider=provider, enable_jit=enable_jit, **kwargs)
            else:
                self._python(args, kwargs, provider, enable_jit)


def make_calls(
    name: str,
    shape: CallShape,
    backend: Backend | None,
    options: CompilationOptions,
    guard: Callable[[_core.Program], None],
    native: _core.Program | None = None,
) -> Calls:
    """Return the calls of one set of parameters under a backend.

    `native` is the program that makes them, if there is one already; it watches names on its own.
    """
    own_guard = guard if native is None else None
    if native is None and is_native(backend):
        native = _core.Program(
            name,
            shape.parameters,
            lambda *given: variants.on_miss(*given),  # noqa: PLW0108  (made below)
            reject,
        )
    sink = None if native is None else NativeEntries(native, shape, own_guard)
    variants = Variants(shape, backend, options.enable_jit, options.build_budget, sink)
    return Calls(name, variants, native)


def domain_scalars(out: Any, domain: Any) -> dict[str, int]:
    """Return the bounds of `domain=` by the names of the scalars that pass them to the program."""
    found = {}
    for path, leaf in leaves_of(out):
        dims = tuple(getattr(leaf, "dims", ()))
        shown = OUT + "".join(f"[{index}]" for index in path)
        box = written_domain(shown, dims, domain_at(domain, path))
        name = leaf_name(OUT, path)
        for dim in dims:
            bounds = box[dim].unit_range
            found[f"domain.{name}.{dim.value}.start"] = bounds.start
            found[f"domain.{name}.{dim.value}.stop"] = bounds.stop
    return found
