"""Options that name values of the dataflow IR, as its listing prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...runtime.process.errors import OptionError


def value_names(given: Iterable[str]) -> tuple[str, ...]:
    """Return names of values as options take them; anything but '%3' and the like is refused.

    >>> value_names(["%3", "%12"])
    ('%3', '%12')
    """
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if not (isinstance(name, str) and re.fullmatch(r"%\d+", name)):
            raise OptionError(f"Expected names of values such as '%12', got '{name}'.")
    return names
