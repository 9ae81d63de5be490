"""Counterpart of `gt4py.storage.cartesian.utils`."""

from ...runtime.storage.arrays import asarray, cpu_copy

__all__ = ["asarray", "cpu_copy"]
