"""Errors of code generators, in words for the person who wrote the program."""

from __future__ import annotations

from ...runtime.process import FieldforgeError


class CodegenError(FieldforgeError):
    """A backend cannot write code for this program."""
