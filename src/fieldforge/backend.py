"""What `gt4py.next.backend` offers."""

from .workflows.backends.backend import Backend

__all__ = ["Backend"]
