"""An extension of griffe: interactive examples in docstrings become fenced code."""

from __future__ import annotations

from typing import Any

import griffe

from .text import fenced


class FenceExamples(griffe.Extension):
    """Put every `>>>` example of every docstring into a fence."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
