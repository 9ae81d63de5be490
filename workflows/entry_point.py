"""What programs and operators have in common: a definition, a backend, and ways to change both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import attrs

from ..runtime.capture import recapture
from ..runtime.definition import Definition
from ..runtime.errors import ArgumentError, OptionError
from .backend import Backend
from .backends import find_backend
from .building import Variants, parsed, trace
from .recipes import reference
from .variants import variant_of

if TYPE_CHECKING:
    from .inspection import Trace


@attrs.frozen
class CompilationOptions:
    """How variants come about; `enable_jit=None` takes the setting of the process.

    Attributes:
        enable_jit: whether a call compiles what it misses.
        static_params: parameters whose values are compiled in; not supported yet.
        static_domains: compile the domains of fields in; not supported yet.
        connectivities: neighbour tables to compile for; not supported yet.

    """

    enable_jit: bool | None = None
    static_params: tuple[str, ...] | None = None
    static_domains: bool = False
    connectivities: Mapping[str, Any] | None = None

    def __attrs_post_init__(self) -> None:
        for option in ("static_params", "static_domains", "connectivities"):
            if getattr(self, option):
                raise OptionError(f"The compilation option '{option}' is not supported yet.")


@attrs.frozen(eq=False)
class Made:
    """All that a decorated object is made of; other objects are made by changing it."""

    definition: Definition
    backend: Backend | None = None
    options: CompilationOptions = CompilationOptions()
    bound: tuple[tuple[str, Any], ...] = ()


class EntryPoint:
    """A decorated function; methods named `with_...` return another one."""

    __definition__: Definition
    _made: Made
    _sets: tuple[Variants, ...]

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
        return parsed(self._current()).root

    def with_backend(self, backend: Backend | str | None) -> Self:
        """Run it by another backend, by name or as an object; None runs embedded."""
        return self._changed(backend=find_backend(backend))

    def with_grid_type(self, grid_type: Any) -> Self:
        """Say on which kind of grid it runs, instead of what was deduced."""
        definition = attrs.evolve(self._current(), grid_type=grid_name(grid_type))
        return self._changed(definition=definition)

    def with_compilation_options(self, **options: Any) -> Self:
        """Replace compilation options by name."""
        return self._changed(options=changed_options(self._made.options, options))

    def trace(self, *args: Any, until: str | None = None, **kwargs: Any) -> Trace:
        """Show every stage of a build, for the layout of these arguments or the default one.

        `program.trace()["lower"].text` is what stage 'lower' gave. Embedded programs show the
        stages of the reference backend.
        """
        backend = self.backend or reference()
        names = self._sets[0].parameters
        variant = variant_of(names, args, kwargs) if args or kwargs else None
        return trace(self._current(), backend, variant, until)

    def compile(self, offset_provider: Any = None, **static: Any) -> Self:
        """Build it now, for fields as our constructors make them; returns the object itself."""
        if static:
            names = ", ".join(f"'{name}'" for name in static)
            raise OptionError(f"Static arguments such as {names} are not supported yet.")
        if offset_provider:
            raise OptionError("Neighbour tables in 'offset_provider' are not supported yet.")
        if self.backend is None:
            raise OptionError(
                f"'{self.__name__}' runs embedded; there is nothing to compile.",
                hints=["Select a backend with 'with_backend'."],
            )
        if self._made.bound:
            raise NotImplementedError(f"'{self.__name__}' has bound arguments; compile it before.")
        variants = self._sets[0]
        variants.entry(variants.default())
        return self

    @property
    def variants(self) -> str:
        """The variants that were built, as a table."""
        if self.backend is None:
            return f"{self.__name__}: runs embedded"
        head = f"{self.__name__}: variants of backend '{self.backend.name}'"
        return "\n".join([head, *(variants.text for variants in self._sets)])

    def __repr__(self) -> str:
        name = self.backend.name if self.backend else "embedded"
        return f"<{self.__definition__.kind} {self.__qualname__} ({name})>"

    def _current(self) -> Definition:
        refresh(self)
        return self.__definition__

    def _changed(self, **changes: Any) -> Self:
        made = attrs.evolve(self._made, definition=self.__definition__)
        return self._of(attrs.evolve(made, **changes))


def refresh(entry: EntryPoint) -> None:
    """Look again at what the names in a function, and in those that it calls, are bound to now."""
    seen: set[int] = set()
    waiting: list[Any] = [entry]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        current.__definition__ = recapture(current.__definition__)
        waiting += _reached(current.__definition__)


def _reached(definition: Definition) -> list[EntryPoint]:
    """Return the decorated objects that a function may name, directly or through modules."""
    mentioned = sorted(definition.function.__code__.co_names)
    values = [value for _, value in definition.closure]
    looked_into: set[int] = set()
    for value in values:  # grows while it is walked
        if isinstance(value, ModuleType) and id(value) not in looked_into:
            looked_into.add(id(value))
            values += [vars(value)[name] for name in mentioned if name in vars(value)]
    return [value for value in values if isinstance(value, EntryPoint)]


def changed_options(options: CompilationOptions, changes: Mapping[str, Any]) -> CompilationOptions:
    """Return the options with some of them changed; an unknown one is an error."""
    known = [field.name for field in attrs.fields(CompilationOptions)]
    for name in changes:
        if name not in known:
            raise OptionError(f"There is no compilation option '{name}'.", name=name, known=known)
    return attrs.evolve(options, **changes)


def grid_name(grid_type: Any) -> str | None:
    """Return the kind of grid as a word, whatever it was given as."""
    if grid_type is None:
        return None
    name = str(getattr(grid_type, "value", grid_type)).lower()
    if name not in ("cartesian", "unstructured"):
        raise OptionError(
            f"There is no grid type '{grid_type}'.", name=name, known=["cartesian", "unstructured"]
        )
    return name


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters in order."""
    return tuple(inspect.signature(function).parameters)
