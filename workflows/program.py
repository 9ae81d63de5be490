"""`Program`: a decorated program; compiled ones are called without any Python in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ..runtime import _core, embedded
from ..runtime.compiled import reject
from ..runtime.errors import ArgumentError
from .building import Variants
from .calls import call_python, is_native
from .entry_point import EntryPoint, Made, parameter_names


class Program(EntryPoint, _core.Program):
    """A sequence of operator calls that runs by a backend.

    An instance is called through the native core, which asks for a variant when none fits.
    """

    def __new__(cls, made: Made) -> Self:
        """Make the program; the core takes its callbacks here."""
        parameters = parameter_names(made.definition.function)
        held: list[Program] = []  # the core wants its callbacks before there is an object
        variants = Variants(
            lambda: held[0]._current(),  # noqa: PLW0108  (not there yet)
            made.backend,
            made.options.enable_jit,
            parameters,
        )
        self = super().__new__(cls, made.definition.name, parameters, variants.on_miss, reject)
        held.append(self)
        if is_native(made.backend):
            variants.add = self.add
        self._sets = (variants,)
        self._wear(made)
        return self

    @classmethod
    def _of(cls, made: Made) -> Any:
        called = made.backend is None or made.bound or not is_native(made.backend)
        return PythonProgram(made) if called else Program(made)

    def with_bound_args(self, **bound: Any) -> Any:
        """Fix arguments by name; they can no longer be given at a call."""
        names = parameter_names(self.definition)
        for name in bound:
            if name not in names:
                raise TypeError(f"Keyword argument '{name}' is not a valid program parameter.")
        return self._changed(bound=(*self._made.bound, *sorted(bound.items())))

    def with_static_params(self, *names: str | None) -> Any:
        """Choose the parameters whose values are compiled in."""
        chosen = tuple(name for name in names if name is not None)
        return self.with_compilation_options(static_params=chosen or None)


class PythonProgram(Program):
    """A program that runs embedded, by the reference interpreter, or with bound arguments."""

    def __call__(
        self,
        *args: Any,
        offset_provider: Mapping[str, Any] | None = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Run the program."""
        if self._made.bound:
            args, kwargs = self._with_bound(args, kwargs)
        if self.backend is None:
            embedded.run_program(self._current(), args, kwargs, offset_provider=offset_provider)
        elif is_native(self.backend):
            self._native(*args, enable_jit=enable_jit, **kwargs)
        else:
            call_python(self._sets[0], args, kwargs, enable_jit)

    def _native(self, *args: Any, **kwargs: Any) -> None:
        _core.Program.__call__(self, *args, **kwargs)

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
    return Program._of(made)  # type: ignore[no-any-return]  # one of the two classes above
