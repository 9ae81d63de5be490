"""Counterpart of `gt4py.eve`, for models: enumerations, nodes and templates of text."""

from enum import Enum, IntEnum, StrEnum

from . import codegen, concepts, utils
from .concepts import FrozenNode, Node

__all__ = [
    "Enum",
    "FrozenNode",
    "IntEnum",
    "Node",
    "StrEnum",
    "codegen",
    "concepts",
    "utils",
]
