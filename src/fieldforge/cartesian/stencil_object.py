"""Counterpart of `gt4py.cartesian.stencil_object`."""

from ..workflows.cartesian.frozen import FrozenStencil
from ..workflows.cartesian.stencil_object import StencilObject

__all__ = ["FrozenStencil", "StencilObject"]
