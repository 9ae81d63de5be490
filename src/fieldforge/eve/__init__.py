"""What models use of `gt4py.eve`: enumerations, and `utils.FrozenNamespace`."""

from enum import Enum, IntEnum, StrEnum

from . import utils

__all__ = ["Enum", "IntEnum", "StrEnum", "utils"]
