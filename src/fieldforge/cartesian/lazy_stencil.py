"""Counterpart of `gt4py.cartesian.lazy_stencil`."""

from ..workflows.cartesian.lazy import LazyStencil

__all__ = ["LazyStencil"]
