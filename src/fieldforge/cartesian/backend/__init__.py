"""Counterpart of `gt4py.cartesian.backend`."""

from ...workflows.cartesian.backends import REGISTRY, Backend, from_name, register

__all__ = ["REGISTRY", "Backend", "from_name", "register"]
