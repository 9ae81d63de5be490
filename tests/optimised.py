"""Which tests compile with all optimisations, as users do, and which with none.

A compiler takes up to eighteen times as long to optimise a program as to translate it. Tests that
repeat one program in other types or layouts therefore do without in seven cases of eight;
`-m every_optimised` optimises in all of them.
"""

from __future__ import annotations

from typing import Any, Final
from zlib import crc32

ONE_IN: Final = 8
NONE: Final = ("-O0",)


def is_asked(request: Any) -> bool:
    """Tell whether the run is to optimise everywhere."""
    return "every_optimised" in request.config.option.markexpr


def is_chosen(request: Any) -> bool:
    """Tell whether a test is one of the eighth that always optimises."""
    return is_asked(request) or crc32(request.node.nodeid.encode()) % ONE_IN == 0


def not_optimised(backend: Any) -> Any:
    """Return the backend with a compiler that optimises nothing."""
    return backend.with_options(flags=NONE)
