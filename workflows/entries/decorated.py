"""`Decorated`: a decorated function with its name and options, read again when names change."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

from ...runtime import _core
from ...runtime.language import Definition
from ...runtime.process import ArgumentError, OptionError, classes
from ...stages.option_kinds import FLAG, SECONDS, TABLES, TEXTS, option, optional
from ...stages.parse.free_names import objects_in_sight
from ...stages.parse.key import forget
from ..backends.backend import Backend
from ..builds.building import summary
from ..engine.handle import Handle
from ..options.tags import backend_for
from .rebinding import Watch, read_again, together, watch

if TYPE_CHECKING:
    from ..derivatives.derivative import Derived
    from .cut_definition import Cutting


@classes.frozen
class CompilationOptions:
    """Options of compilation; `enable_jit=None` uses the setting of the process.

    Attributes:
        enable_jit: whether a call compiles a missing variant.
        static_params: parameters whose values are compiled in.
        static_domains: whether the domains of all fields are compiled in; each other domain is
            then another variant. `compile(domains=...)` compiles in some domains only.
        connectivities: neighbour tables that `compile` uses by default.
        build_budget: seconds that a build may take before it warns; None uses the setting of the
            process.

    """

    enable_jit: bool | None = option(optional(FLAG), None)
    static_params: tuple[str, ...] | None = option(optional(TEXTS), None)
    static_domains: bool = option(FLAG, False)
    connectivities: Mapping[str, Any] | None = option(optional(TABLES), None)
    build_budget: float | None = option(optional(SECONDS), None)


@classes.frozen(eq=False)
class Made:
    """The immutable parts of a decorated object; `with_...` methods change a copy.

    Attributes:
        definition: the function, as it was read.
        watch: the names that the function sees, with what they held.
        backend: compiles it; None runs embedded.
        options: compilation options.
        bound: arguments that `with_bound_args` has fixed, by name.
        sizes: names of bound scalars that a set-up does not compile in.
        has_checks: whether the backend compiles checks in; see `EntryPoint.checked`.
        checked: what the decorator's check found, so that copies need not check again.
        cut: how `split` has made the definition, of which function.
        derived: how the program was derived, if it is a derivative.

    """

    definition: Definition
    watch: Watch
    backend: Backend | None = None
    options: CompilationOptions = classes.field(factory=CompilationOptions)
    bound: tuple[tuple[str, Any], ...] = ()
    sizes: frozenset[str] = frozenset()
    has_checks: bool = False
    checked: Handle | None = None
    cut: Cutting | None = None
    derived: Derived | None = None


class Decorated:
    """A decorated function; methods named `with_...` return another one."""

    __definition__: Definition
    _made: Made
    _watch: Watch | None = None

    # --- the function and its options -----------------------------------------------------------

    def _wear(self, made: Made) -> None:
        """Take over the name and the docstring of the decorated function."""
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
        return cls(made)  # type: ignore[call-arg]  # the constructors below take it

    def _changed(self, **changes: Any) -> Self:
        if "definition" in changes:
            changes["checked"] = None
        return self._of(classes.evolve(self._made, **changes))

    @property
    def definition(self) -> Callable[..., Any]:
        """The Python function that was decorated."""
        return self.__definition__.function

    @property
    def backend(self) -> Backend | None:
        """The backend that compiles it; None runs embedded."""
        return self._made.backend

    @property
    def compilation_options(self) -> CompilationOptions:
        """The options that say how variants are compiled."""
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
        """Select a backend, by tag or as an object; None runs embedded.

        A tag gets the options that the option database has for this program.
        """
        found = backend_for(backend, address_of(self.__definition__))
        derived = self._made.derived
        return self._changed(backend=derived.onto(found) if derived else found)

    def with_grid_type(self, grid_type: Any) -> Self:
        """Set the grid type, 'cartesian' or 'unstructured', which is otherwise deduced."""
        definition = classes.evolve(self._current(), grid_type=grid_name(grid_type))
        check_grid(definition)
        return self._changed(definition=definition)

    def with_compilation_options(self, **options: Any) -> Self:
        """Replace compilation options by name."""
        return self._changed(options=changed_options(self._made.options, options))

    def __repr__(self) -> str:
        name = self.backend.name if self.backend else "embedded"
        return f"<{self.__definition__.kind} {self.__qualname__} ({name})>"

    # --- names that are bound anew ----------------------------------------------------------------

    def _current(self) -> Definition:
        """Return the definition, read again if a name that it sees was bound anew."""
        self._renew()
        return self.__definition__

    def _renew(self) -> bool:
        """Read the function again if a name that it sees was bound anew; tell whether it was."""
        if not self._watched().changed():
            return False
        forget()
        for each in _reached(self):
            each._read_again()
        self._watch = None
        self._forget()
        return True

    def _read_again(self) -> None:
        """Take the definition with its names as they are bound now."""
        definition = read_again(self.__definition__)
        self.__definition__ = definition
        self._made = classes.evolve(
            self._made, definition=definition, watch=watch(definition), checked=None
        )

    def _watched(self) -> Watch:
        """Return all names that the function and its callees see."""
        if self._watch is None:
            self._watch = together(each._made.watch for each in _reached(self))
        return self._watch

    def _guard(self, program: _core.Program) -> None:
        """Make a native program read the function again when a name is bound anew."""
        program.watch(self._watched().triples(), self._renew)

    def _forget(self) -> None:
        """Drop the variants of the function, which has changed."""
        raise NotImplementedError


def _reached(entry: Decorated) -> list[Decorated]:
    """Return a decorated object and its direct and indirect callees."""
    found: dict[int, Decorated] = {id(entry): entry}
    waiting = [entry]
    for each in waiting:  # grows during the loop
        for value in objects_in_sight(each.__definition__):
            if isinstance(value, Decorated) and id(value) not in found:
                found[id(value)] = value
                waiting.append(value)
    return waiting


def address_of(definition: Definition) -> str:
    """Return the name that patterns of option files are compared with, 'module:name'."""
    return f"{definition.function.__module__}:{definition.name}"


def check_grid(definition: Definition) -> None:
    """Refuse a Cartesian grid for a function that reads neighbours from tables."""
    if definition.grid_type == "cartesian" and summary(definition).unstructured:
        raise OptionError(
            f"'{definition.name}' reads neighbours from tables, so its grid type is "
            "'unstructured', got 'cartesian'.",
        )


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters in order."""
    return tuple(signature_of(function).parameters)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function, made once."""
    found = _signatures.get(function)
    if found is None:
        found = _signatures[function] = inspect.signature(function)
    return found


_signatures: Final[WeakKeyDictionary[Callable[..., Any], inspect.Signature]] = WeakKeyDictionary()


def changed_options(options: CompilationOptions, changes: Mapping[str, Any]) -> CompilationOptions:
    """Return the options with some changed; an unknown option is an error."""
    known = [field.name for field in classes.fields(CompilationOptions)]
    for name in changes:
        if name not in known:
            raise OptionError(f"There is no compilation option '{name}'.", name=name, known=known)
    return classes.evolve(options, **changes)


def grid_name(grid_type: Any) -> str | None:
    """Return the grid type as a word, given as a word or an enum member."""
    if grid_type is None:
        return None
    name = str(getattr(grid_type, "value", grid_type)).lower()
    if name not in ("cartesian", "unstructured"):
        raise OptionError(
            f"There is no grid type '{grid_type}'.", name=name, known=["cartesian", "unstructured"]
        )
    return name
