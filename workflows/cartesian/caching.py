"""The strategies of caching by gt4py's names; results always lie in the store of fieldforge."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from ...runtime.process.settings import current


class CachingStrategy:
    """Names what a builder makes; it keeps nothing itself."""

    name: ClassVar[str] = ""

    def __init__(self, builder: Any, **settings: Any) -> None:
        self.builder = builder
        self.settings = settings

    @property
    def root_path(self) -> Path:
        """The store."""
        return current().cache_dir

    @property
    def class_name(self) -> str:
        """The name of the class of the stencil object."""
        return str(self.builder.class_name)

    @property
    def stencil_id(self) -> Any:
        """The name and the digest of the stencil."""
        return self.builder.stencil_id

    def capture_externals(self) -> None:
        """Bind the names that the definition mentions, as they are now."""
        self.builder.captured  # noqa: B018  (keeps it)


class JITCachingStrategy(CachingStrategy):
    """The strategy 'jit'."""

    name: ClassVar[str] = "jit"


class NoCachingStrategy(CachingStrategy):
    """The strategy 'nocaching', which differs in nothing here."""

    name: ClassVar[str] = "nocaching"


def strategy_factory(name: str, builder: Any, *_: Any, **settings: Any) -> CachingStrategy:
    """Return a strategy by name.

    >>> strategy_factory("jit", None).name
    'jit'
    """
    for kind in (JITCachingStrategy, NoCachingStrategy):
        if kind.name == name:
            return kind(builder, **settings)
    raise ValueError(f"There is no caching strategy '{name}'.")
