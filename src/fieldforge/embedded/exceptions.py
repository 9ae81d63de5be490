"""What `gt4py.next.embedded.exceptions` offers."""

from ..runtime.process.errors import IndexOutOfBounds, NonContiguousDomain

__all__ = ["IndexOutOfBounds", "NonContiguousDomain"]
