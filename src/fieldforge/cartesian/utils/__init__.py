"""Counterpart of `gt4py.cartesian.utils`, as far as clients name it."""

from . import compiler

__all__ = ["compiler"]
