"""Modules that forward attributes: reading, setting or patching one reaches another place."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple


class Elsewhere(NamedTuple):
    """The functions that read and write a forwarded attribute."""

    read: Callable[[], Any]
    write: Callable[[Any], None]


class ForwardingModule(ModuleType):
    """A module that forwards the attributes in its `FORWARDED`."""

    FORWARDED: dict[str, Elsewhere]

    def __getattr__(self, name: str) -> Any:
        place = vars(self).get("FORWARDED", {}).get(name)
        if place is None:
            raise AttributeError(f"Module '{self.__name__}' has no attribute '{name}'.")
        return place.read()

    def __setattr__(self, name: str, value: Any) -> None:
        place = self.FORWARDED.get(name)
        if place is None:
            super().__setattr__(name, value)
            return
        vars(self).setdefault("_before", []).append((name, place.read()))
        place.write(value)

    def __delattr__(self, name: str) -> None:
        """Undo the last assignment, as `unittest.mock.patch` does at its end."""
        history = vars(self).get("_before", [])
        for index in reversed(range(len(history))):
            if history[index][0] == name:
                self.FORWARDED[name].write(history.pop(index)[1])
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.FORWARDED})
