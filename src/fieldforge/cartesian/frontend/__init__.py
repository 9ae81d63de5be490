"""Counterpart of `gt4py.cartesian.frontend`."""

from ...workflows.cartesian.loading import FRONTENDS as REGISTRY, frontend_from_name as from_name
from . import exceptions, gtscript_frontend

__all__ = ["REGISTRY", "exceptions", "from_name", "gtscript_frontend"]
