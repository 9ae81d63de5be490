"""What `gt4py.next.backend` offers."""

from .workflows.backend import Backend

__all__ = ["Backend"]
