"""A namespace of constants whose values operators take as literals."""

from __future__ import annotations

import types
from typing import Any, ClassVar


class FrozenNamespace(types.SimpleNamespace):
    """Constants by name, which nobody can change: operators fold `constants.G` to a literal.

    >>> constants = FrozenNamespace(G=9.81, LEVELS=80)
    >>> constants.G, constants
    (9.81, FrozenNamespace(G=9.81, LEVELS=80))
    """

    __fieldforge_namespace__: ClassVar[bool] = True

    def __setattr__(self, name: str, _: Any) -> None:
        raise AttributeError(f"A FrozenNamespace is immutable; cannot set '{name}'.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A FrozenNamespace is immutable; cannot delete '{name}'.")

    def __hash__(self) -> int:  # type: ignore[override]  # a SimpleNamespace can change, this cannot
        return hash(tuple(sorted(vars(self).items())))
