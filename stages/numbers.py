"""Values of options that have several numbers, each by its name."""

from __future__ import annotations

from typing import Any

from ..runtime.process import classes


class Numbers:
    """A value with several numbers; subclasses are frozen classes of attrs.

    A number that is left out has its default.
    """

    __slots__ = ()

    @property
    def given(self) -> dict[str, int]:
        """The numbers that differ from their defaults, by name."""
        kind: Any = type(self)
        values = {field: getattr(self, field.name) for field in classes.fields(kind)}
        return {field.name: value for field, value in values.items() if value != field.default}

    @property
    def table(self) -> str:
        """The same as a table of TOML."""
        return f"{{{', '.join(f'{name} = {value}' for name, value in self.given.items())}}}"

    def __repr__(self) -> str:
        values = (f"{name}={value}" for name, value in self.given.items())
        return f"{type(self).__name__}({', '.join(values)})"
