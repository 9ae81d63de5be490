"""Parse the text of a definition with `ast`, and map its nodes to places in the user's file."""

from __future__ import annotations

import ast
from typing import TypeAlias

from ...runtime.language import Definition
from ...runtime.process import (
    PYTHON_PARSER,
    DSLError,
    SourceText,
    Span,
    UnsupportedPythonFeatureError,
    classes,
)

Located: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.keyword


@classes.frozen(eq=False)
class Source:
    """The `ast` tree of a definition, with the text from which it takes spans."""

    function: ast.FunctionDef
    text: SourceText
    lines: tuple[str, ...]
    ascii: bool

    def span(self, node: Located) -> Span:
        """Return the place of `node` in the user's file."""
        end_line = node.end_lineno or node.lineno
        end_column = node.end_col_offset or node.col_offset
        if self.ascii:
            return self.text.span(node.lineno, node.col_offset, end_line, end_column)
        return self.text.span(
            node.lineno,
            self._column(node.lineno, node.col_offset),
            end_line,
            self._column(end_line, end_column),
        )

    @property
    def name(self) -> Span:
        """The place of the function's name."""
        function = self.function
        line = self.lines[function.lineno - 1]
        column = max(line.find(function.name, function.col_offset + 3), 0)
        return self.text.span(function.lineno, column, function.lineno, column + len(function.name))

    def _column(self, line: int, offset: int) -> int:
        """Convert a column in bytes, as `ast` counts, to a column in characters."""
        text = self.lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))


def read(definition: Definition) -> Source:
    """Parse the text of a definition; turn a syntax error of Python into a located error."""
    text = definition.source
    try:
        with PYTHON_PARSER:
            module = ast.parse(text.text)
    except SyntaxError as error:
        line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
        end_line = max(error.end_lineno or line, line)
        end_column = (error.end_offset or 0) - 1
        if end_line == line:
            end_column = max(end_column, column + 1)
        span = text.span(line, column, end_line, max(end_column, 0))
        raise DSLError(span, f"Invalid syntax: {error.msg}.") from None
    except (ValueError, RecursionError, MemoryError):
        raise DSLError(
            text.span(1, 0, 1, 1),
            f"Definition '{definition.name}' is nested too deeply to be read.",
        ) from None
    lines = tuple(text.text.split("\n"))
    ascii_only = text.text.isascii()
    first = module.body[0] if module.body else None
    if isinstance(first, ast.FunctionDef):
        return Source(first, text, lines, ascii_only)
    if isinstance(first, ast.AsyncFunctionDef):
        raise UnsupportedPythonFeatureError(
            text.span(first.lineno, 0, first.lineno, 9), "async def"
        )
    raise DSLError(
        text.span(1, 0, 1, max(len(lines[0]), 1)),
        f"Expected '{definition.name}' to be a function written with 'def'.",
    )
