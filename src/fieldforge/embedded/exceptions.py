"""Counterpart of `gt4py.next.embedded.exceptions`."""

from ..runtime.process import IndexOutOfBounds, NonContiguousDomain

__all__ = ["IndexOutOfBounds", "NonContiguousDomain"]
