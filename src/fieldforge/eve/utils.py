"""What models use of `gt4py.eve.utils`."""

from ..runtime.language.namespace import FrozenNamespace

__all__ = ["FrozenNamespace"]
