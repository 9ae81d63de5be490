"""Counterpart of `gt4py.cartesian.stencil_object`."""

from ..workflows.cartesian.stencil_object import FrozenStencil, StencilObject

__all__ = ["FrozenStencil", "StencilObject"]
