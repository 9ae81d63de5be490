"""Counterpart of `gt4py.next.program_processors.runners.dace.workflow`, as far as models use it."""

from . import common

__all__ = ["common"]
