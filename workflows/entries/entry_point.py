"""What programs and operators have in common: a definition, a backend, and ways to change both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import attrs

from ...runtime import _core
from ...runtime.calls.call_limits import Limited, as_workspace, checked_count
from ...runtime.embedded import provenance
from ...runtime.language.definition import Definition
from ...runtime.process.errors import ArgumentError, NotCompilableError, OptionError
from ...runtime.process.settings import current
from ...stages.artifacts import Variant
from ...stages.parse.free_names import objects_in_sight
from ...stages.parse.key import forget
from ..backends.backend import Backend
from ..backends.ready_made import find_backend
from ..backends.recipes import reference
from ..engine.building import summary, trace
from ..engine.engine import Engine
from .compilation_options import CompilationOptions, changed_options, grid_name
from .program_pool import ProgramPool, pool_of
from .rebinding import Watch, read_again, together, watch
from .recording import note, paused
from .static_arguments import check_names, combinations
from .variant_table import Provider, Variants

if TYPE_CHECKING:
    from ..engine.inspection import Trace
    from .checked import Checks

Domains: TypeAlias = Mapping[Any, Any] | Sequence[Mapping[Any, Any]] | None


@attrs.frozen(eq=False)
class Made:
    """All that a decorated object is made of; other objects are made by changing it."""

    definition: Definition
    watch: Watch
    backend: Backend | None = None
    options: CompilationOptions = attrs.field(factory=CompilationOptions)
    bound: tuple[tuple[str, Any], ...] = ()


class EntryPoint:
    """A decorated function; methods named `with_...` return another one."""

    __definition__: Definition
    _made: Made
    _sets: tuple[Variants, ...]
    _watch: Watch | None = None
    _checks: Checks | None = None
    _has_checks = False

    def _wear(self, made: Made) -> None:
        """Look like the function that was decorated."""
        self._made = made
        self.__definition__ = made.definition
        function = made.definition.function
        self.__name__ = made.definition.name
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    @classmethod
    def _of(cls, made: Made) -> Self:
        raise NotImplementedError

    @property
    def definition(self) -> Callable[..., Any]:
        """The Python function that was decorated."""
        return self.__definition__.function

    @property
    def backend(self) -> Backend | None:
        """What compiles it; None runs embedded."""
        return self._made.backend

    @property
    def compilation_options(self) -> CompilationOptions:
        """How variants come about."""
        return self._made.options

    @property
    def __gt_allocator__(self) -> Any:
        if self.backend is None:
            raise ArgumentError(
                f"'{self.__name__}' runs embedded and has no allocator.",
                hints=["Name an allocator, or select a backend with 'with_backend'."],
            )
        return self.backend.allocator

    def __gt_type__(self) -> Any:
        """Return the typed signature."""
        return summary(self._current()).signature

    def with_backend(self, backend: Backend | str | None) -> Self:
        """Run it by another backend, by name or as an object; None runs embedded."""
        return self._changed(backend=find_backend(backend))

    def with_grid_type(self, grid_type: Any) -> Self:
        """Say on which kind of grid it runs, instead of what was deduced."""
        definition = attrs.evolve(self._current(), grid_type=grid_name(grid_type))
        check_grid(definition)
        return self._changed(definition=definition)

    def with_compilation_options(self, **options: Any) -> Self:
        """Replace compilation options by name."""
        return self._changed(options=changed_options(self._made.options, options))

    def checked(self, *args: Any, **kwargs: Any) -> None:
        """Make the call with checks, and refuse to write what is not finite.

        The arguments are those of a call. The `CheckError` names the operator and line where the
        number arose, its index and value. Ranges, neighbours that are missing and outputs that
        overlap are checked too. Programs of backend 'cpu' have the checks compiled in, which takes
        one more build; others run embedded. A program that is named in `FIELDFORGE_CHECK` makes
        all its calls in this way.
        """
        if self._checks is None:
            from .checked import Checks, written_by

            embedded: Any = self.with_backend(None)
            written = written_by(self._current())
            self._checks = Checks(self._with_checks(), embedded, written)
        bound = dict(self._made.bound)
        names = [name for name in parameter_names(self.definition) if name not in bound]
        given = {**dict(zip(names, args, strict=False)), **bound, **kwargs}
        note(self.checked, args, kwargs)
        with paused():
            self._checks.run(args, kwargs, given)

    def _with_checks(self) -> Any:
        """Return the same with its checks compiled in, None where that is not possible.

        It may always be built by a call: who asks for checks asks for that.
        """
        from .checked import with_checks

        backend = with_checks(self.backend)
        if backend is None:
            return None
        options = attrs.evolve(self._made.options, enable_jit=True)
        sibling = self._changed(backend=backend, options=options)
        sibling._has_checks = True
        sibling._set_static(self._sets[0].static)
        return sibling

    @property
    def _is_checked(self) -> bool:
        """Whether the settings ask for checked calls, and this is not what makes them."""
        wanted = current().check
        is_asked = bool(wanted) and self.__name__ in wanted
        return is_asked and not self._has_checks and not provenance.is_checking()

    def with_threads(self, count: int) -> Limited:
        """Let calls use so many threads: `program.with_threads(1)(...)`; variants are shared."""
        return Limited(self, checked_count(count))

    def with_workspace(self, buffer: Any) -> Limited:
        """Keep temporaries in memory of the caller; see `workspace_size`. Variants are shared."""
        return Limited(self, 0, as_workspace(buffer))

    def workspace_size(
        self, *args: Any, offset_provider: Mapping[str, Any] | None = None, **sizes: Any
    ) -> int:
        """Return the bytes of temporaries of a call: nothing is compiled, no field is needed.

        Sizes are given by dimension (`I=256`, or `I=(-1, 257)`), which counts for all fields,
        or as arguments of a call: scalars, fields, and domains for fields. It is that of fields as
        our constructors make them; copies of arguments that overlap are not counted.
        """
        from .workspace_size import workspace_size

        provider = self._made.options.connectivities if offset_provider is None else offset_provider
        if self.backend is None:
            return 0
        definition, variants = self._current(), self._sets[0]
        given = dict(zip(variants.parameters, args, strict=False)) | dict(self._made.bound) | sizes
        variant = variants.default(provider, variants.static_of(given) if variants.static else ())
        return workspace_size(definition, self.backend, variant, given, provider)

    def trace(
        self,
        *args: Any,
        until: str | None = None,
        offset_provider: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Trace:
        """Show every stage of a build, for the layout of these arguments or the default one.

        `program.trace()["lower"].text` is what stage 'lower' gave. Embedded programs show the
        stages of the reference backend.
        """
        provider = self._made.options.connectivities if offset_provider is None else offset_provider
        definition, variants = self._current(), self._sets[0]
        if args or kwargs:
            variant = variants.variant(args, kwargs, provider)
        else:
            variant = variants.default(provider)
        return trace(definition, self.backend or reference(), variant, until, variants.budget)

    def compile(
        self,
        offset_provider: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        enable_jit: bool | None = None,
        domains: Domains = None,
        **static: Sequence[Any],
    ) -> Self:
        """Build it for fields as our constructors make them; returns the object itself.

        Goes on in the background: a call waits for what it needs, `wait_for_compilation` for
        everything.

        Args:
            offset_provider: neighbour tables, or a list of such dictionaries to build for each;
                without it those of the option `connectivities`.
            enable_jit: whether calls may compile from now on.
            domains: domains to compile in, or a list of them to build for each: extents by
                dimension (`{"I": 256, "K": (0, 80)}`), domains by parameter. Fields with other
                domains take code that reads them at the call, built when they come.
            static: for each static parameter the list of its values; every combination is built.

        """
        wanted = self.wanted(offset_provider, static, domains)
        if enable_jit is not None:
            self._sets[0].enable_jit = enable_jit
        self._sets[0].begin(wanted)
        return self

    def build(
        self, offset_provider: Any = None, domains: Domains = None, **static: Sequence[Any]
    ) -> Self:
        """Build it like `compile`, but here and now, and no error if it is built already."""
        for variant, provider in self.wanted(offset_provider, static, domains):
            self.provide(variant, provider)
        return self

    def provide(
        self, variant: Variant, provider: Provider = None, used: Engine | None = None
    ) -> None:
        """Have one variant ready, built here if need be, by an engine or that of the process."""
        self._sets[0].entry(variant, provider, "asked for by 'build'", used)

    def _check_compilable(self) -> None:
        if self.backend is None:
            raise NotCompilableError(
                f"'{self.__name__}' runs embedded; there is nothing to compile.",
                hints=["Select a backend with 'with_backend'."],
            )
        if self._made.bound:
            raise NotImplementedError(f"'{self.__name__}' has bound arguments; compile it before.")

    def wanted(
        self, given: Any, static: Mapping[str, Sequence[Any]], domains: Domains = None
    ) -> list[tuple[Variant, Provider]]:
        """Return the variants for every combination of static values, providers and domains."""
        self._check_compilable()
        self._current()
        self._choose_static(static)
        variants = self._sets[0]
        values = list(combinations(variants.types, static)) if static else [()]
        providers = self._providers(given)
        return [
            (variants.default(provider, each, known), provider)
            for provider in providers
            for each in values
            for known in self._domains(domains)
        ]

    def _domains(self, given: Domains) -> Sequence[Mapping[Any, Any] | None]:
        if given is None and self._made.options.static_domains:
            raise OptionError(
                f"'{self.__name__}' has static domains; 'compile' needs to know them.",
                hints=['Give them: \'compile(domains={"I": 256, "K": 80})\'.'],
            )
        return [given] if given is None or isinstance(given, Mapping) else list(given)

    def _choose_static(self, static: Mapping[str, Sequence[Any]]) -> None:
        for name, values in static.items():
            if not isinstance(values, list | tuple):
                raise TypeError(
                    f"Static argument '{name}' of '{self.__name__}' takes a list of values, "
                    f"got '{values!r}'."
                )
        variants = self._sets[0]
        names = tuple(sorted(static))
        check_names(variants.types, names, self.__name__)
        if variants.static == names:
            return
        if variants.static or variants.table:
            chosen = ", ".join(map(repr, variants.static)) or "none"
            raise ValueError(
                f"The static parameters of '{self.__name__}' are {chosen}, got "
                f"{', '.join(map(repr, names)) or 'none'}; they are the same for all its variants."
            )
        self._set_static(names)

    def _set_static(self, names: tuple[str, ...]) -> None:
        for variants in self._sets:
            variants.static = names

    def _providers(self, given: Any) -> list[Provider]:
        if given is None:
            given = self._made.options.connectivities
        if given is None:
            needed = [name for name, is_needed in self._sets[0].summary.tables if is_needed]
            if needed:
                raise OptionError(
                    f"'{self.__name__}' reads the neighbour tables {', '.join(map(repr, needed))}.",
                    hints=["Give them: 'compile(offset_provider=...)', or as 'connectivities'."],
                )
            return [None]
        return [given] if isinstance(given, Mapping) else list(given)

    @property
    def variants(self) -> str:
        """The variants that were built, as a table."""
        if self.backend is None:
            return f"{self.__name__}: runs embedded"
        head = f"{self.__name__}: variants of backend '{self.backend.name}'"
        return "\n".join([head, *(variants.text for variants in self._sets)])

    @property
    def _compiled_programs(self) -> ProgramPool:
        """The variants that were built, as code written for gt4py reads them."""
        return pool_of(*self._sets)

    def __repr__(self) -> str:
        name = self.backend.name if self.backend else "embedded"
        return f"<{self.__definition__.kind} {self.__qualname__} ({name})>"

    def _current(self) -> Definition:
        self._renew()
        return self.__definition__

    def _renew(self) -> bool:
        """Read the function again if a name that it sees was bound anew; tell whether it was."""
        if not self._watched().changed():
            return False
        forget()
        for each in _reached(self):
            definition = read_again(each.__definition__)
            each.__definition__ = definition
            each._made = attrs.evolve(each._made, definition=definition, watch=watch(definition))
        self._watch = None
        self._forget()
        return True

    def _watched(self) -> Watch:
        """Return all names that the function and those that it calls see."""
        if self._watch is None:
            self._watch = together(each._made.watch for each in _reached(self))
        return self._watch

    def _guard(self, program: _core.Program) -> None:
        """Let a native program notice when a name was bound anew."""
        program.watch(self._watched().triples(), self._renew)

    def _forget(self) -> None:
        """Drop what was built of the function as it was before."""
        for variants in self._sets:
            variants.forget()

    def _changed(self, **changes: Any) -> Self:
        return self._of(attrs.evolve(self._made, **changes))


def _reached(entry: EntryPoint) -> list[EntryPoint]:
    """Return the decorated objects that a function may name, and those that these may name."""
    found: dict[int, EntryPoint] = {id(entry): entry}
    waiting = [entry]
    for each in waiting:  # grows while it is walked
        for value in objects_in_sight(each.__definition__):
            if isinstance(value, EntryPoint) and id(value) not in found:
                found[id(value)] = value
                waiting.append(value)
    return waiting


def check_grid(definition: Definition) -> None:
    """Refuse a Cartesian grid for a function that reads neighbours from tables."""
    if definition.grid_type == "cartesian" and summary(definition).unstructured:
        raise OptionError(
            f"'{definition.name}' reads neighbours from tables, so its grid type is "
            "'unstructured', got 'cartesian'.",
        )


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters in order."""
    return tuple(inspect.signature(function).parameters)
