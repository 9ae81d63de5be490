"""`Compilable`: the base of functions that are built: their variants, builds, traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from ...runtime.process import NotCompilableError
from ...stages.artifacts import Variant
from ..backends.recipes import reference
from ..builds.building import trace
from ..engine.engine import Engine
from ..variants.builds import Variants
from ..variants.call_shape import Provider
from ..variants.table import ProgramPool, pool_of
from ..variants.tables import kinds_of
from .decorated import Decorated

if TYPE_CHECKING:  # imported by the methods that need them, see decision 0005
    from ..builds.order import Order
    from ..engine.inspection import Trace
    from .compile_requests import Domains


class Compilable(Decorated):
    """A decorated function that is built for backends, one variant for each shape of a call."""

    _last_provider: Provider = None  # of a call that ran embedded

    @property
    def _variants(self) -> Variants:
        """The variants for the function's own parameters."""
        raise NotImplementedError

    @property
    def _variant_sets(self) -> tuple[Variants, ...]:
        """All sets of variants, that of the function's own parameters first."""
        return (self._variants,)

    @property
    def instances(self) -> Mapping[tuple[str, ...], Compilable]:
        """What is built: the function itself, or each choice of types of a generic operator."""
        return {(): self}

    @property
    def variants(self) -> str:
        """The variants that were built, as a table."""
        return self._variants_text({})

    def _variants_text(self, reasons: Mapping[str, str]) -> str:
        """Return the table of variants; `reasons` say why arguments are static."""
        if self.backend is None:
            return f"{self.__name__}: runs embedded"
        head = f"{self.__name__}: variants of backend '{self.backend.name}'"
        static = self._variants.static_text(reasons)
        tables = (variants.table.text for variants in self._variant_sets)
        return "\n".join([head, *(f"  {line}" for line in static), *tables])

    def drop_variants(self, **static: Any) -> int:
        """Drop compiled variants from this process and return how many; the store keeps them.

        The keywords choose those with these values of static arguments; without, all are dropped.
        """
        return sum(variants.drop(static) for variants in self._variant_sets)

    @property
    def _compiled_programs(self) -> ProgramPool:
        """The variants that were built, under the name that code written for gt4py reads."""
        sets = self._variant_sets
        return pool_of(self.__name__, self.backend, *(variants.table for variants in sets))

    def compile(
        self,
        offset_provider: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        enable_jit: bool | None = None,
        domains: Domains = None,
        **static: Sequence[Any],
    ) -> Self:
        """Build for fields that our constructors make, in the background; returns the object.

        A call waits for the variant that it needs, `wait_for_compilation` for all of them.

        Args:
            offset_provider: neighbour tables, or a list of such dictionaries to build for each;
                the default is the option `connectivities`.
            enable_jit: whether calls may compile from now on.
            domains: domains to compile in, or a list of them to build for each: extents by
                dimension (`{"I": 256, "K": (0, 80)}`), domains by parameter. A call with other
                domains uses a variant that reads them at run time, built when it is needed.
            static: for each static parameter the list of its values; every combination is built.

        """
        wanted = self.wanted(offset_provider, static, domains)
        if enable_jit is not None:
            self._variants.allow_jit(enable_jit)
        self._variants.begin(wanted)
        return self

    def build(
        self, offset_provider: Any = None, domains: Domains = None, **static: Sequence[Any]
    ) -> Self:
        """Build like `compile`, but wait; variants that exist already are no error.

        >>> import fieldforge as ff
        >>> I = ff.Dimension("I")
        >>> Line = ff.Field[ff.Dims[I], ff.float64]
        >>> @ff.field_operator(backend=ff.cpu)
        ... def doubled(u: Line) -> Line:
        ...     return u + u
        >>> print(doubled.build().variants)
        doubled: variants of backend 'cpu'
          0  unit stride of u: I; unit stride of out: I  (asked for by 'build')
        """
        for variant, provider in self.wanted(offset_provider, static, domains):
            self.provide(variant, provider)
        return self

    def provide(
        self, variant: Variant, provider: Provider = None, used: Engine | None = None
    ) -> None:
        """Build one variant if it is missing, by `used` or the engine of the process."""
        self._variants.entry(variant, provider, "asked for by 'build'", used)

    def wanted(
        self, given: Any, static: Mapping[str, Sequence[Any]], domains: Domains = None
    ) -> list[tuple[Variant, Provider]]:
        """Return the variants that `compile` would build, each with its offset provider."""
        from .compile_requests import choose_static, requested_variants

        self._check_compilable()
        self._current()
        chosen = self._variants.shape.static
        known = {name: [value] for name, value in self._made.bound if name in chosen}
        static = static or known
        choose_static(self.__name__, self._variant_sets, static)
        return requested_variants(
            self.__name__, self._variants.shape, self._made.options, given, static, domains
        )

    def order(self, variant: Variant, provider: Provider, used: Engine) -> Order:
        """Return the build of one variant as a value; a batch runs it."""
        from ..builds.order import Order

        self._check_compilable()
        assert self.backend is not None, "'_check_compilable' refuses it"
        return Order(
            self.__definition__,
            self.backend,
            variant,
            used,
            lambda: self.provide(variant, provider, used),
        )

    def usual(self, provider: Provider) -> Variant:
        """Return the variant of the default layout; open static values stay arguments in it."""
        shape = self._variants.shape
        known = shape.static_of(dict(self._made.bound)) if shape.static else ()
        return shape.default(provider, known)

    def open_static(self) -> set[str]:
        """Return the static parameters whose values only a call knows."""
        return set(self._variants.shape.static) - {name for name, _ in self._made.bound}

    def _check_compilable(self) -> None:
        if self.backend is None:
            raise NotCompilableError(
                f"'{self.__name__}' runs embedded; there is nothing to compile.",
                hints=["Select a backend with 'with_backend'."],
            )

    # --- inspection -------------------------------------------------------------------------------

    def workspace_size(
        self, *args: Any, offset_provider: Mapping[str, Any] | None = None, **sizes: Any
    ) -> int:
        """Return the bytes that a call needs for temporaries; compiles nothing, needs no field.

        Sizes are given by dimension for all fields (`I=256`, or `I=(-1, 257)`), or as arguments of
        a call: scalars, fields, and domains in the place of fields. The fields are taken to be as
        our constructors make them. Copies of arguments that overlap are not counted.

        >>> import fieldforge as ff
        >>> I = ff.Dimension("I")
        >>> Line = ff.Field[ff.Dims[I], ff.float64]
        >>> @ff.field_operator(backend=ff.cpu)
        ... def doubled(u: Line) -> Line:
        ...     return u + u
        >>> doubled.workspace_size(I=1000)
        0
        """
        from .workspace_size import workspace_size

        provider = self._tables(offset_provider)
        if self.backend is None:
            return 0
        definition, shape = self._current(), self._variants.shape
        given = dict(zip(shape.parameters, args, strict=False)) | dict(self._made.bound) | sizes
        variant = shape.default(provider, shape.static_of(given) if shape.static else ())
        return workspace_size(definition, self.backend, variant, given, provider)

    def trace(
        self,
        *args: Any,
        until: str | None = None,
        offset_provider: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Trace:
        """Show every stage of a build, for the layout of these arguments or the default one.

        `program.trace()["lower"].text` is the output of stage 'lower'. Embedded programs show the
        stages of the reference backend. Neighbour tables are those given, else of the option
        `connectivities`, else of an earlier call or build.

        >>> import fieldforge as ff
        >>> I = ff.Dimension("I")
        >>> Line = ff.Field[ff.Dims[I], ff.float64]
        >>> @ff.field_operator(backend=ff.cpu)
        ... def doubled(u: Line) -> Line:
        ...     return u + u
        >>> print(doubled.trace(until="parse")["parse"].text.splitlines()[0])
        operator doubled(u: Field[[I], float64]) -> Field[[I], float64]
        """
        provider = self._tables(offset_provider)
        definition, variants = self._current(), self._variants
        is_given = bool(args or kwargs)
        variant = variants.variant(args, kwargs, provider) if is_given else self.usual(provider)
        return trace(definition, self.backend or reference(), variant, until, variants.budget)

    def _tables(self, given: Provider) -> Provider:
        """Return neighbour tables: given, of the options, or what earlier calls and builds had."""
        if given is None:
            given = self._made.options.connectivities
        if given is None:
            built = [each for own in self._variant_sets for each in own.table.variants]
            tables = next((each.tables for each in reversed(built) if each.tables), ())
            given = kinds_of(tables) if tables else self._last_provider
        return given

    def _forget(self) -> None:
        """Drop all variants: the function has changed."""
        for variants in self._variant_sets:
            variants.forget()
