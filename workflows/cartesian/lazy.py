"""`LazyStencil`: a stencil that is built when it is first used."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from ...stages.gtscript.errors import GTError, GTScriptDefinitionError, GTScriptSymbolError
from .backends import Backend
from .builder import StencilBuilder, builder_of
from .definitions import FieldInfo
from .program import StencilProgram
from .stencil_object import StencilObject

if TYPE_CHECKING:  # most processes pickle nothing
    from .pickling import PickledStencil


class LazyStencil:
    """A stencil whose definition is bound now and built at first use.

    >>> from fieldforge.cartesian.gtscript import PARALLEL, Field, computation, interval
    >>> from fieldforge.cartesian.gtscript import lazy_stencil
    >>> @lazy_stencil(backend="numpy")
    ... def rise(a: Field[float], b: Field[float]):
    ...     with computation(PARALLEL), interval(...):
    ...         b = a[1, 0, 0] - a
    >>> rise.implementation.domain_info.min_sequential_axis_size
    0
    """

    def __init__(self, builder: StencilBuilder) -> None:
        self.builder = builder
        builder.caching.capture_externals()
        self._check_names()

    def _check_names(self) -> None:
        """Raise errors of names and externals; `check_syntax` and the build raise all others."""
        try:
            self.check_syntax()
        except (GTScriptDefinitionError, GTScriptSymbolError):
            raise
        except (GTError, ValueError):
            pass

    @cached_property
    def implementation(self) -> StencilObject:
        """The stencil object, built once."""
        return self.builder.build()()

    @property
    def backend(self) -> Backend:
        """The backend; builds nothing."""
        return self.builder.backend

    @property
    def field_info(self) -> dict[str, FieldInfo]:
        """The fields by name."""
        return self.implementation.field_info

    @property
    def __entry_point__(self) -> StencilProgram:
        """The program behind the stencil."""
        return self.implementation.program

    def check_syntax(self) -> None:
        """Read the definition, and raise the errors in it."""
        self.builder.gtir  # noqa: B018  (raises them)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call the stencil."""
        self.implementation(*args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Run the stencil with origin and domain decided."""
        self.implementation.run(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        from .pickling import PickledStencil

        own = self.builder
        found = PickledStencil.of(own.definition, own.captured, type(own.backend), own.options)
        return restored, (found,)

    def __sdfg__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to be part of a program of DaCe."""
        raise TypeError(
            "Only dace backends are supported in DaCe-orchestrated programs. "
            f'(found "{self.backend.name}")'
        )

    __sdfg_signature__ = __sdfg__
    __sdfg_closure__ = __sdfg__


def restored(found: PickledStencil) -> LazyStencil:
    """Return the lazy stencil that a pickle describes."""
    return LazyStencil(builder_of(found))
