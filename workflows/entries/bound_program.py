"""`BoundProgram`: a program with fixed arguments, called with the remaining ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import attrs

from ...runtime import _core
from ...runtime.calls.on_reject import reject
from ...stages.artifacts import Variant
from ..variants.naming import variant_of


class BoundProgram(_core.BoundCall):
    """A program with fixed arguments; `program.bind` makes it.

    The call gives the remaining arguments, by position or by keyword. If none remain, only the
    first call checks the arguments, and `call()` costs little more than the compiled code.
    """

    __name__: str
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
        program, fixed, provider = self._pickled
        chosen = program.compilation_options.static_params or ()
        known = {name: [fixed[name]] for name in chosen if name in fixed}
        wanted = program.wanted(provider, {**known, **static}, domains)
        program._variants.begin(
            (laid_out(variant, program._variants.shape.parameters, fixed), given)
            for variant, given in wanted
        )
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from .pickling import bound_again  # most processes pickle nothing

        return bound_again, self._pickled

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the remaining parameters."""
        left = [self._whole.parameters[name] for name in self.parameters]
        return self._whole.replace(parameters=left)

    def __repr__(self) -> str:
        return f"<{self.name}{self.__signature__}>"


def laid_out(variant: Variant, parameters: Sequence[str], fixed: Mapping[str, Any]) -> Variant:
    """Return the variant with the contiguous axes of the bound fields."""
    bound = dict(variant_of(parameters, (), fixed).unit)
    unit = {name: dim for name, dim in variant.unit if name.partition(".")[0] not in fixed}
    order = {name: place for place, name in enumerate(parameters)}
    both = sorted({**unit, **bound}.items(), key=lambda row: order[row[0].partition(".")[0]])
    return attrs.evolve(variant, unit=tuple(both))
