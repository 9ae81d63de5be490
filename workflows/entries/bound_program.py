"""`BoundProgram`: a program with fixed arguments, called with the remaining ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from ...runtime import _core
from ...runtime.calls.on_reject import reject
from ...runtime.process import classes, in_words
from ...stages.artifacts import Variant
from ...stages.ir.literal import number
from ..variants.naming import variant_of

if TYPE_CHECKING:  # imported by the method that needs it, see decision 0005
    from ..engine.inspection import Trace

Requested: TypeAlias = list[tuple[Variant, Mapping[str, Any] | None]]


class BoundProgram(_core.BoundCall):
    """A program with fixed arguments; `program.bind` makes it.

    The call gives the remaining arguments, by position or by keyword. If none remain, only the
    first call checks the arguments, and `call()` costs little more than the compiled code.
    """

    __name__: str
    program: Any
    _pickled: tuple[Any, dict[str, Any], Mapping[str, Any] | None]
    _whole: inspect.Signature

    def __new__(
        cls,
        program: Any,
        call: Callable[..., Any],
        native: _core.Program | None,
        signature: inspect.Signature,
        values: Mapping[str, Any],
        offset_provider: Mapping[str, Any] | None,
    ) -> Self:
        """Bind `values`; the core may call `native` instead of `call`."""
        self = super().__new__(
            cls,
            program.__name__,
            call,
            native,
            tuple(signature.parameters),
            dict(values),
            offset_provider,
            reject,
        )
        self.program = program
        self.__name__ = program.__name__
        self.__doc__ = program.__doc__
        self._whole = signature
        own = {name for name, _ in program._made.bound}
        kept = {name: value for name, value in values.items() if name not in own}
        self._pickled = (program, kept, offset_provider)
        return self

    @property
    def variants(self) -> str:
        """The variants that were built, as a table; all programs bound from one share them."""
        table: str = self._pickled[0].variants
        return table

    def compile(self, domains: Any = None, **static: Sequence[Any]) -> Self:
        """Build what a call needs, in the background; returns the object.

        The bound fields determine the layout, and bound scalars that are static their value; the
        other arguments are those of a program's `compile`.
        """
        self.program._variants.begin(self._requested(static, domains))
        return self

    def wanted(self) -> Requested:
        """Return the variants that `compile` builds, each with its offset provider."""
        return self._requested({}, None)

    def _requested(self, static: Mapping[str, Sequence[Any]], domains: Any) -> Requested:
        program, fixed, provider = self._pickled
        chosen = program.compilation_options.static_params or ()
        known = {name: [fixed[name]] for name in chosen if name in fixed}
        found = program.wanted(provider, {**known, **static}, domains)
        parameters = program._variants.shape.parameters
        return [(laid_out(variant, parameters, fixed), given) for variant, given in found]

    def trace(self, until: str | None = None) -> Trace:
        """Show every stage of a build, as `trace` of a program does, for the bound arguments."""
        made: Trace = self.unbound().trace(until=until)
        return made

    def unbound(self) -> Any:
        """Return the program with the static numbers and tables of the first variant wanted."""
        program, fixed, provider = self._pickled
        types = program._variants.shape.types
        chosen = {name: fixed[name] for name in program._variants.shape.static if name in fixed}
        for variant, _ in self.wanted()[:1] if program.backend is not None else ():
            numbers = [(name, text) for name, text in variant.static if name in types]
            chosen |= {name: number(text, types[name].name) for name, text in numbers}
        made = program.with_bound_args(**chosen) if chosen else program
        tables = program._tables(provider)
        return made.with_compilation_options(connectivities=tables) if tables else made

    def __reduce__(self) -> tuple[Any, ...]:
        from .pickling import bound_again  # most processes pickle nothing

        return bound_again, self._pickled

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the remaining parameters."""
        left = [self._whole.parameters[name] for name in self.parameters]
        return self._whole.replace(parameters=left)

    def __repr__(self) -> str:
        return in_words(f"<{self.name}{self.__signature__}>")


def laid_out(variant: Variant, parameters: Sequence[str], fixed: Mapping[str, Any]) -> Variant:
    """Return the variant with the contiguous axes of the bound fields."""
    bound = dict(variant_of(parameters, (), fixed).unit)
    unit = {name: dim for name, dim in variant.unit if name.partition(".")[0] not in fixed}
    order = {name: place for place, name in enumerate(parameters)}
    both = sorted({**unit, **bound}.items(), key=lambda row: order[row[0].partition(".")[0]])
    return classes.evolve(variant, unit=tuple(both))
