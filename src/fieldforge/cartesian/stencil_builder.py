"""Counterpart of `gt4py.cartesian.stencil_builder`."""

from ..workflows.cartesian.builder import StencilBuilder

__all__ = ["StencilBuilder"]
