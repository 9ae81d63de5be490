"""`StencilProgram`: the program of a stencil; it takes fields and the sizes of the domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

from ...runtime.calls import observation
from ...runtime.process import classes
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from ..backends.languages import for_stencils
from ..backends.recipes import reference
from ..engine.handle import Handle, Result
from ..entries.calls import is_native
from ..entries.decorated import CompilationOptions, Made
from ..entries.native_entry import NativeEntry
from ..entries.noting import note
from ..entries.rebinding import Watch
from ..options.tags import backend_for
from ..variants.call_shape import CallShape, Provider, Static
from ..variants.known_domains import ranges_told
from ..variants.naming import variant_of
from .source import StencilSource, summary_of

if TYPE_CHECKING:  # most processes pickle nothing
    from .pickling import Address

UNWATCHED: Final = Watch((), (), (), ())


@classes.define(eq=False)
class StencilShape(CallShape):
    """The parameters of a stencil, and the layouts that its backend recommends."""

    units: tuple[tuple[str, str], ...] = ()

    def variant(self, values: Mapping[str, Any], provider: Provider) -> Variant:
        """Return the variant for arguments by name; the sizes of the domain choose none."""
        static = self.static_of(values) if self.static else ()
        found = variant_of(self.parameters, (), values, (), static)
        return classes.evolve(found, domain=False)

    def default(
        self, provider: Provider, static: Static = (), domains: Mapping[Any, Any] | None = None
    ) -> Variant:
        """Return the variant for storages that are made for the backend."""
        parameters = self.summary.signature.parameters
        ranges = () if domains is None else ranges_told(self.source().name, parameters, domains)
        return Variant(unit=self.units, static=static, ranges=ranges)


class StencilProgram(NativeEntry):
    """A stencil as a program: the arguments that it uses, then the sizes of the compute domain.

    Index 0 of each field is the first point of the domain. Everything that takes programs
    (`precompile`, `tune`, `report`, lock files, capsules) takes stencils by this.
    """

    __definition__: StencilSource  # type: ignore[assignment]  # what builds read of both is the same

    @classmethod
    def make(cls, source: StencilSource, backend: Backend) -> Self:
        """Return the program of a stencil under a backend."""
        given: Any = source
        checked = Handle.of(summary_of(source.info))
        return cls._of(Made(given, UNWATCHED, backend, checked=checked))

    @classmethod
    def _of(cls, made: Made) -> Self:
        assert made.checked is not None, "'make' sets it"
        signature = made.checked.get().signature
        made = classes.evolve(made, backend=for_stencils(made.backend or reference()))
        return cls._entry(made, tuple(name for name, _ in signature.parameters))

    def _shape(self, parameters: tuple[str, ...], **more: Any) -> CallShape:
        options = self._made.options
        shape = StencilShape(
            self._current, parameters, options.static_params or (), options.static_domains,
            units=self.__definition__.units,
        )  # fmt: skip
        shape.checked = self._made.checked
        return shape

    def with_backend(self, backend: Backend | str | None) -> Self:
        """Select a backend; a stencil does not run embedded, None is the interpreter."""
        return self._changed(backend=backend_for(backend, self._address))

    def __reduce__(self) -> tuple[Any, ...]:
        from .pickling import Address

        source, made = self.__definition__, self._made
        address = Address.of(source.function, source.source.text)
        plain = classes.evolve(source, function=len)  # pickled by the address
        return _restored, (address, plain, made.backend, made.options, made.bound, made.sizes)

    @property
    def _address(self) -> str:
        return f"{self.__module__}:{self.__name__}"

    def _renew(self) -> bool:
        """Keep the definition: what a stencil names is bound when it is decorated."""
        return False

    def _guard(self, program: Any) -> None:
        """Watch no name, for the same reason."""

    def _call_in_python(
        self,
        *args: Any,
        offset_provider: Mapping[str, Any] | None = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Make a call by the interpreter, or with hooks, metrics or checks."""
        if self._is_captured:
            self._capture_first(args, kwargs)
        elif self._is_checked:
            self.checked(*args, **kwargs)
        else:
            if not is_native(self.backend):
                note(self, args, kwargs)
            if observation.active():
                with observation.program_call(self, args, kwargs, None, enable_jit):
                    self._calls(*args, enable_jit=enable_jit, **kwargs)
            else:
                self._calls(*args, enable_jit=enable_jit, **kwargs)

    def checked(self, *args: Any, **kwargs: Any) -> None:
        """Make a call with checks; a failed one writes nothing and raises a `CheckError`.

        Backend 'cpu' compiles the checks in, which takes one more build; others only run. Levels
        that values give are watched by the interpreter, which takes as long as a run of it.
        """
        self._check_call(args, kwargs, {**dict(zip(self.parameters, args, strict=False)), **kwargs})

    def _argument_watch(self) -> Callable[[Mapping[str, Any]], None] | None:
        from .levels import LevelWatch

        return LevelWatch.of(self.__definition__)

    def hear(self, hears: Callable[[Variant, Mapping[str, Result]], None]) -> None:
        """Let a function receive each variant that is built, and the results by stage."""
        self._variants.hears = hears

    def begin_usual(self) -> None:
        """Start the build for the layout that the backend recommends, in the background."""
        self._variants.begin([(self.usual(None), None)])


def _restored(
    address: Address,
    plain: StencilSource,
    backend: Backend,
    options: CompilationOptions,
    bound: tuple[tuple[str, Any], ...],
    sizes: frozenset[str],
) -> StencilProgram:
    """Return the program that a pickle describes."""
    source = classes.evolve(plain, function=address.function)
    made = StencilProgram.make(source, backend)
    return made._changed(options=options, bound=bound, sizes=sizes)
