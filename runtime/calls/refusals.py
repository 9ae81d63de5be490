"""Raise the error for a call that the native core refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from .plan import Plan


def reject(
    plan: Plan | None, arguments: Sequence[Any], reason: int, detail: Sequence[Any]
) -> NoReturn:
    """Raise the error for a refused call; this is the `on_reject` of programs.

    Where the arguments do not fit the parameters there is no plan, and `detail` is the
    name of the program, its parameters, and what is wrong. Where the plan has tables, the
    offset provider stands behind the arguments.
    """
    # A program whose calls all succeed does not import the wording of errors.
    from .refusal_errors import refusal_error

    raise refusal_error(plan, arguments, reason, detail)
