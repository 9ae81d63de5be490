"""`Program`: a decorated program; compiled ones are called without any Python in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self
from weakref import WeakSet

from ..runtime import _core, observation
from ..runtime.compiled import reject
from ..runtime.errors import ArgumentError
from .calls import Calls, is_native
from .entry_point import EntryPoint, Made, parameter_names
from .static_arguments import check_names
from .variant_table import Variants


class Program(EntryPoint, _core.Program):
    """A sequence of operator calls that runs by a backend.

    An instance of this very class is called through the native core, which asks for a variant
    when none fits. Where a call takes more than that the instance is a `PythonProgram`, and it
    can become one: when static arguments are compiled in, or when calls are watched.
    """

    def __new__(cls, made: Made) -> Self:
        """Make the program; the core takes its callbacks here."""
        parameters = parameter_names(made.definition.function)
        held: list[Program] = []  # the core wants its callbacks before there is an object
        options = made.options
        variants = Variants(
            lambda: held[0]._current(),  # noqa: PLW0108  (not there yet)
            made.backend,
            options.enable_jit,
            parameters,
            static=options.static_params or (),
        )
        self = super().__new__(
            cls,
            made.definition.name,
            parameters,
            lambda *given: held[0]._missed(*given),  # noqa: PLW0108  (the same)
            reject,
        )
        held.append(self)
        self._sets = (variants,)
        self._wear(made)
        self._calls = Calls(self.__name__, variants, self if is_native(made.backend) else None)
        self._is_plain = not made.bound and is_native(made.backend)
        self._settle()
        if self._is_plain:
            _plain.add(self)
        return self

    _calls: Calls
    _is_plain: bool

    @classmethod
    def _of(cls, made: Made) -> Any:
        return Program(made)

    def with_bound_args(self, **bound: Any) -> Any:
        """Fix arguments by name; they can no longer be given at a call."""
        names = parameter_names(self.definition)
        for name in bound:
            if name not in names:
                raise TypeError(f"Keyword argument '{name}' is not a valid program parameter.")
        return self._changed(bound=(*self._made.bound, *sorted(bound.items())))

    def with_static_params(self, *names: str | None) -> Any:
        """Choose the parameters whose values are compiled in; None, or no name, for none."""
        chosen = tuple(name for name in names if name is not None)
        check_names(self._sets[0].types, chosen, self.__name__)
        return self.with_compilation_options(static_params=chosen or None)

    def _missed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._renew()
        self._sets[0].on_miss(args, kwargs)
        self.watch(self._watched().triples(), self._renew)

    def _set_static(self, names: tuple[str, ...]) -> None:
        super()._set_static(names)
        self._settle()

    def _forget(self) -> None:
        super()._forget()
        self._calls.forget()

    def _settle(self) -> None:
        """Be called natively if that is all there is to do."""
        fast = self._is_plain and not self._sets[0].static and not observation.active()
        self.__class__ = Program if fast else PythonProgram


class PythonProgram(Program):
    """A program that is called through Python: embedded, with static or bound arguments."""

    def __call__(
        self,
        *args: Any,
        offset_provider: Mapping[str, Any] | None = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Run the program."""
        self._renew()
        if self._made.bound:
            args, kwargs = self._with_bound(args, kwargs)
        if observation.active():
            self._observed(args, kwargs, offset_provider, enable_jit)
        elif self.backend is None:
            from ..runtime import embedded  # what is compiled never needs it

            embedded.run_program(self.__definition__, args, kwargs, offset_provider=offset_provider)
        else:
            self._calls(*args, offset_provider=offset_provider, enable_jit=enable_jit, **kwargs)

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
            from ..runtime import embedded

            with observation.embedded_call(self, args, kwargs, provider):
                embedded.run_program(self.__definition__, args, kwargs, offset_provider=provider)

    def _with_bound(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = dict(self._made.bound)
        twice = [name for name in kwargs if name in bound]
        if twice:
            raise ArgumentError(f"Parameter '{twice[0]}' already set as a bound argument.")
        free = [name for name in parameter_names(self.definition) if name not in bound]
        if len(args) > len(free):
            raise ArgumentError(
                f"Function takes {len(free)} positional arguments, but {len(args)} were given."
            )
        return (), {**bound, **dict(zip(free, args, strict=False)), **kwargs}


def make_program(made: Made) -> Program:
    """Return a program that runs as its backend wants."""
    return Program(made)


_plain: WeakSet[Program] = WeakSet()


def _settle_all(_: bool) -> None:
    for each in tuple(_plain):
        each._settle()


observation.subscribe(_settle_all)
