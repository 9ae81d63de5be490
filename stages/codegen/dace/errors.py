"""The error for text of DaCe that fieldforge cannot use."""

from __future__ import annotations

from ....runtime.process.errors import FieldforgeError


class DaceTextError(FieldforgeError):
    """DaCe wrote text of an unknown form, which we cannot join with our entry point."""
