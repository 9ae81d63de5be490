"""Counterpart of `gt4py.cartesian.utils`, as far as clients name it."""

from ...workflows.cartesian.backends import Registry
from . import compiler

__all__ = ["Registry", "compiler"]
