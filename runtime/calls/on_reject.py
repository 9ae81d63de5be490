"""The callback of programs for calls that the native core refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from .plan import Plan


def reject(
    plan: Plan | None, arguments: Sequence[Any], reason: int, detail: Sequence[Any]
) -> NoReturn:
    """Raise the error for a refused call; the first imports what composes errors."""
    from .refusals import reject as raise_error

    raise_error(plan, arguments, reason, detail)
