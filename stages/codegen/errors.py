"""What code generators refuse, in words for the person who wrote the program."""

from __future__ import annotations

from ...runtime.errors import FieldforgeError


class CodegenError(FieldforgeError):
    """A program that a backend cannot write code for."""
