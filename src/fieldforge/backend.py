"""Counterpart of `gt4py.next.backend`."""

from .workflows.backends.backend import Backend

__all__ = ["Backend"]
