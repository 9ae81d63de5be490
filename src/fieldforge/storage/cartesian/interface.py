"""Counterpart of `gt4py.storage.cartesian.interface`."""

from ...runtime.storage.allocation import empty, from_array, full, ones, zeros

__all__ = ["empty", "from_array", "full", "ones", "zeros"]
