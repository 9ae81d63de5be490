"""Counterpart of `gt4py.next.ffront.decorator`; `DEFAULT_BACKEND` may be set and patched here."""

import sys

from ..forwarding import Elsewhere, ForwardingModule
from ..workflows.entries import decorators
from ..workflows.entries.decorators import field_operator, program, scan_operator
from ..workflows.entries.field_operator import FieldOperator
from ..workflows.entries.program import Program

__all__ = ["FieldOperator", "Program", "field_operator", "program", "scan_operator"]

FORWARDED = {
    "DEFAULT_BACKEND": Elsewhere(
        lambda: decorators.DEFAULT_BACKEND,
        lambda backend: setattr(decorators, "DEFAULT_BACKEND", backend),
    )
}

sys.modules[__name__].__class__ = ForwardingModule
