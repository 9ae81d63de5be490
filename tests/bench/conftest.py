"""Kernels by hand are compiled as in the tests of examples."""

from ..by_hand import kernels_by_hand

__all__ = ["kernels_by_hand"]
