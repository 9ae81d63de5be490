"""`BoundProgram`: a program with fixed arguments, called with the remaining ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self

from ...runtime import _core
from ...runtime.calls.refusals import reject
from .pickling import bound_again


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

    def __reduce__(self) -> tuple[Any, ...]:
        return bound_again, self._pickled

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the remaining parameters."""
        left = [self._whole.parameters[name] for name in self.parameters]
        return self._whole.replace(parameters=left)

    def __repr__(self) -> str:
        return f"<{self.name}{self.__signature__}>"
