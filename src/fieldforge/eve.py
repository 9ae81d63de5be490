"""What models use of `gt4py.eve`."""

from enum import StrEnum

__all__ = ["StrEnum"]
