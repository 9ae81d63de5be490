"""Counterpart of `gt4py.eve`, for models: enumerations, and `utils.FrozenNamespace`."""

from enum import Enum, IntEnum, StrEnum

from . import utils

__all__ = ["Enum", "IntEnum", "StrEnum", "utils"]
