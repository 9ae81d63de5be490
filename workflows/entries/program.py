"""`Program`: a decorated program; calls of compiled programs run no Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from ...runtime import _core
from ...runtime.calls import observation
from ...runtime.calls.on_reject import reject
from ...runtime.language.argument_binding import bind_arguments
from ...runtime.process import ArgumentError, did_you_mean
from ..variants.call_shape import check_names
from .calls import is_native
from .decorated import Made, parameter_names, signature_of
from .native_entry import NativeEntry
from .noting import note

if TYPE_CHECKING:  # imported by the methods that need them, see decision 0005
    from .bound_program import BoundProgram
    from .split import Split


class Program(NativeEntry):
    """A sequence of operator calls that a backend compiles."""

    def __new__(cls, made: Made) -> Self:
        """Make the program."""
        names = parameter_names(made.definition.function)
        self = cls._entry(made, names)
        bound, native = dict(made.bound), self._calls.native
        self._free = frozenset(names) - bound.keys()
        if bound and native is not None:
            others = partial(_but, self, frozenset(bound))
            self._fixed = _core.BoundCall(self.__name__, others, native, names, bound, None, reject)
        return self

    _free: frozenset[str]
    _fixed: _core.BoundCall | None = None  # calls natively where arguments are bound

    def with_bound_args(self, **bound: Any) -> Any:
        """Fix arguments by name; calls can no longer give them. `bind` does the same, faster.

        >>> import fieldforge as ff
        >>> I = ff.Dimension("I")
        >>> Line = ff.Field[ff.Dims[I], ff.float64]
        >>> @ff.field_operator
        ... def scaled(u: Line, by: float) -> Line:
        ...     return u * by
        >>> @ff.program(backend=ff.cpu)
        ... def scale(u: Line, by: float, out: Line):
        ...     scaled(u, by, out=out)
        >>> out = ff.zeros({I: 2})
        >>> scale.with_bound_args(by=3.0)(ff.ones({I: 2}), out=out)
        >>> out.asnumpy()
        array([3., 3.])
        """
        names = parameter_names(self.definition)
        for name in bound:
            if name not in names:
                raise TypeError(f"Keyword argument '{name}' is not a valid program parameter.")
        return self._changed(bound=(*self._made.bound, *sorted(bound.items())))

    def with_static_params(self, *names: str | None) -> Any:
        """Select the parameters whose values are compiled in; None, or no name, for none.

        Each value is a variant of its own: `scale.with_static_params("by")` builds one for
        `by=2.0` and one for `by=3.0`.
        """
        chosen = tuple(name for name in names if name is not None)
        check_names(self._variants.shape.types, chosen, self.__name__)
        return self.with_compilation_options(static_params=chosen or None)

    def bind(
        self, *, offset_provider: Mapping[str, Any] | None = None, **values: Any
    ) -> BoundProgram:
        """Fix arguments and neighbour tables; return a program that takes the other arguments.

        >>> import fieldforge as ff
        >>> I = ff.Dimension("I")
        >>> Line = ff.Field[ff.Dims[I], ff.float64]
        >>> @ff.field_operator
        ... def scaled(u: Line, by: float) -> Line:
        ...     return u * by
        >>> @ff.program(backend=ff.cpu)
        ... def scale(u: Line, by: float, out: Line):
        ...     scaled(u, by, out=out)
        >>> u, out = ff.ones({I: 2}), ff.zeros({I: 2})
        >>> scale_u = scale.bind(u=u, out=out)
        >>> scale_u.parameters
        ('by',)
        >>> scale_u(3.0)
        >>> scale.bind(u=u, by=2.0, out=out).call()
        >>> out.asnumpy()
        array([2., 2.])
        """
        from .bound_program import BoundProgram

        fixed = dict(self._made.bound)
        free = [name for name in parameter_names(self.definition) if name not in fixed]
        for name in values:
            self._check_free(name, free)
        signature = signature_of(self.definition)
        kept = [signature.parameters[name] for name in free]
        native = self._calls.native
        call: Callable[..., Any] = self
        if fixed and native is not None:
            kept = list(signature.parameters.values())  # the core takes all arguments
            values = fixed | values
            call = partial(_but, self, frozenset(fixed))
        signature = signature.replace(parameters=kept)
        return BoundProgram(self, call, native, signature, values, offset_provider)

    def split(
        self,
        *,
        halo: Mapping[str, Any],
        offset_provider: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> Split[Self]:
        """Return the part that needs no halo, and the rest, as two programs.

        A step is then: start the exchange, call `inner`, finish the exchange, call `outer`. The
        compiler infers which points each statement reads; `inner` computes the points that read
        neither the halo nor anything that waits for it. Both together give the same results as
        the program. Fields that share memory must not be passed as two of its parameters, unless
        each point is read where it is written.

        Args:
            halo: by parameter, the points of the field that are valid before the exchange ends: a
                domain, or ranges by dimension. Dimensions that the field lacks are ignored.
            offset_provider: neighbour tables.
            arguments: arguments of a call, as far as the domains of the statements depend on them.
                Scalars stay fixed in both programs, of fields only the domain counts.

        Raises:
            ArgumentError: a name is no parameter, or an argument is missing.

        >>> import fieldforge as ff
        >>> I = ff.Dimension("I")
        >>> Line = ff.Field[ff.Dims[I], ff.float64]
        >>> @ff.field_operator
        ... def mean(u: Line) -> Line:
        ...     return 0.5 * (u(I - 1) + u(I + 1))
        >>> @ff.program
        ... def smooth(u: Line, out: Line):
        ...     mean(u, out=out)
        >>> u, out = ff.ones({I: (-1, 9)}), ff.zeros({I: 8})
        >>> halves = smooth.split(halo={"u": {I: (0, 8)}}, out=out)
        >>> print(halves)
        smooth:
          0: inner I 1:7, outer I 0:1, I 7:8
        """
        from .split import split

        self._check_original("Halves")
        return split(self, halo, offset_provider, arguments)

    def _check_not_bound(self, name: str) -> None:
        if name in dict(self._made.bound):
            raise ArgumentError(f"Parameter '{name}' already set as a bound argument.")

    def _check_free(self, name: str, free: list[str]) -> None:
        self._check_not_bound(name)
        if name not in free:
            raise ArgumentError(
                f"'{self.__name__}' has no parameter '{name}' to bind.",
                hint=did_you_mean(name, free),
            )

    def _call_in_python(
        self,
        *args: Any,
        offset_provider: Mapping[str, Any] | None = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Call the program embedded, with bound arguments, or with hooks, metrics or checks."""
        if self._fixed is not None and enable_jit is None and self._is_free(args, kwargs):
            self._fixed(*args, offset_provider=offset_provider, **kwargs)
            return
        self._renew()
        more = {"offset_provider": offset_provider, "enable_jit": enable_jit}
        if self._is_captured:
            self._capture_first(args, {**kwargs, **more})
            return
        if self._is_checked:
            self.checked(*args, **kwargs, **more)
            return
        if not is_native(self.backend):
            note(self, args, {**kwargs, "offset_provider": offset_provider})
        if self._made.bound:
            args, kwargs = self._with_bound(args, kwargs)
        if observation.active():
            self._observed(args, kwargs, offset_provider, enable_jit)
        elif self.backend is None:
            from ...runtime.embedded import embedded  # compiled programs never import it

            definition = self.__definition__
            with self._explained(args, kwargs, offset_provider):
                embedded.run_program(definition, args, kwargs, offset_provider=offset_provider)
        else:
            self._calls(*args, offset_provider=offset_provider, enable_jit=enable_jit, **kwargs)

    def _is_free(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Tell whether the native core can make the call once the bound arguments are added."""
        fits = len(args) <= len(self._free) and kwargs.keys() <= self._free
        return fits and not observation.active() and self._is_ordinary

    def _observed(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        provider: Mapping[str, Any] | None,
        enable_jit: bool | None,
    ) -> None:
        with observation.program_call(self, args, kwargs, provider, enable_jit):
            if self.backend is not None:
                self._calls(*args, offset_provider=provider, enable_jit=enable_jit, **kwargs)
                return
            from ...runtime.embedded import embedded

            with (
                observation.embedded_call(self, args, kwargs, provider),
                self._explained(args, kwargs, provider),
            ):
                embedded.run_program(self.__definition__, args, kwargs, offset_provider=provider)

    def _explained(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        provider: Mapping[str, Any] | None,
    ) -> AbstractContextManager[None]:
        """Return a context in which an embedded call names the field that is too small."""
        from .embedded_ranges import explained_ranges

        self._last_provider = provider or self._last_provider
        return explained_ranges(
            self.__name__, lambda: (self._variants.shape, args, kwargs), provider
        )

    def _with_bound(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = dict(self._made.bound)
        names = parameter_names(self.definition)
        free = [name for name in names if name not in bound]
        for name in kwargs:
            self._check_not_bound(name)
        return (), bound | bind_arguments(self.__name__, free, args, kwargs)


def _but(call: Callable[..., Any], names: frozenset[str], **arguments: Any) -> None:
    """Call with all arguments except `names`."""
    call(**{name: value for name, value in arguments.items() if name not in names})
