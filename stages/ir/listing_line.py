"""Parse one line of a listing from left to right; raise `ValueError` for unexpected text."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Final, NoReturn, TypeVar

T = TypeVar("T")

NAME: Final = r"(?:[^\W\d]|@)\w*(?:\.\w+)*"  # arrays begin with @
NUMBER: Final = r"(?a:[\w.+-]+)"
STRING: Final = r'"(?:[^"\\]|\\.)*"'
INTEGER: Final = r"[+-]?[0-9]+"
ROW: Final = r"%[0-9]+"
BOUND: Final = r"\$[0-9]+"
PATH: Final = r"[0-9]+(?:\.[0-9]+)*"
SPACE: Final = r" *"


compiled = functools.cache(re.compile)  # a writer of listings needs few of them


class Line:
    """A line and the position of the parser in it."""

    def __init__(self, text: str, number: int) -> None:
        self._text = text
        self._number = number
        self._at = 0
        self.word = text.partition(" ")[0]
        self.rows: int | None = None  # rows before the line, to which it may refer

    def opens(self, keyword: str) -> bool:
        """Consume the first word of the line if it is `keyword`."""
        if self.word != keyword:
            return False
        self._at = len(keyword)
        return True

    def fail(self, expected: str) -> NoReturn:
        """Raise the error for this position."""
        got = self._text[self._at : self._at + 20]
        raise ValueError(f"Line {self._number}: expected {expected}, got '{got}'.")

    def match(self, pattern: str) -> str | None:
        """Consume a match of `pattern` after spaces, if there is one."""
        start = compiled(SPACE).match(self._text, self._at).end()  # type: ignore[union-attr]  # always matches
        found = compiled(pattern).match(self._text, start)
        if found is None:
            return None
        self._at = found.end()
        return found.group()

    def accept(self, symbol: str) -> bool:
        """Consume `symbol` if it comes next."""
        start = compiled(SPACE).match(self._text, self._at).end()  # type: ignore[union-attr]  # always matches
        if not self._text.startswith(symbol, start):
            return False
        self._at = start + len(symbol)
        return True

    def ahead(self, read: Callable[[], T]) -> T:
        """Return what `read` reads, and leave it there."""
        here = self._at
        found = read()
        self._at = here
        return found

    def comes(self, symbol: str) -> bool:
        """Tell whether `symbol` comes next."""
        return self.ahead(lambda: self.accept(symbol))

    def expect(self, symbol: str) -> None:
        """Consume `symbol`."""
        if not self.accept(symbol):
            self.fail(f"'{symbol}'")

    def end(self) -> None:
        """Check that the line ends here."""
        if self._at != len(self._text):
            self.fail("the end of the line")

    def name(self, plain: str = NAME, expected: str = "a name") -> str:
        """Read a name, plain or in quotes."""
        quoted = self.match(STRING)
        if quoted is not None:
            return str(json.loads(quoted))
        return self.match(plain) or self.fail(expected)

    def text(self) -> str:
        """Read the spelling of a number; other text is in quotes."""
        return self.name(NUMBER, "a number")

    def integer(self) -> int:
        """Read an integer with an optional sign."""
        return int(self.match(INTEGER) or self.fail("an integer"))

    def row(self) -> int:
        """Read a reference to a row."""
        ref = int((self.match(ROW) or self.fail("a row")).removeprefix("%"))
        is_known = self.rows is None or ref < self.rows
        return ref if is_known else self.fail(f"a row before %{self.rows}")

    def several(self, close: str, item: Callable[[], T]) -> Iterator[T]:
        """Read items with commas between them, up to `close`."""
        if not self.accept(close):
            yield from self.listed(item)
            self.expect(close)

    def listed(self, item: Callable[[], T]) -> Iterator[T]:
        """Read items with commas between them."""
        yield item()
        while self.accept(","):
            yield item()
