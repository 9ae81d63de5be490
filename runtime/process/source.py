"""Positions in the user's source: files, spans, and the text of a function."""

from __future__ import annotations

import threading
from typing import Final

from . import classes

PYTHON_PARSER: Final = threading.RLock()
"""To be held around `ast.parse`, `compile` of a tree, and `inspect.getsource` of a class.

CPython 3.11 counts the depth of trees in one place for all threads, and two that build trees at the
same time make it raise "AST constructor recursion depth mismatch".
"""


@classes.frozen
class Span:
    """A stretch of source text; lines and columns count from 1, the end column is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@classes.frozen
class SourceText:
    """The dedented text of one function and where it stands.

    `line` is the line of its first character in `file`, `indent` the number of
    columns that dedenting removed. Only `text` counts for equality and keys.
    """

    text: str
    file: str = classes.field(eq=False)
    line: int = classes.field(eq=False)
    indent: int = classes.field(default=0, eq=False)

    def span(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """Translate a position as `ast` counts it (lines from 1, columns from 0) to a span."""
        shift = self.line - 1
        return Span(
            self.file,
            line + shift,
            column + 1 + self.indent,
            end_line + shift,
            end_column + 1 + self.indent,
        )
