"""Options that name values of the dataflow IR, as its listing prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import attrs

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


def check_size(_: object, field: attrs.Attribute[Any], size: int) -> None:
    """Refuse a negative number of points."""
    if size < 0:
        raise OptionError(f"Option '{field.name}' takes a number of points, got {size}.")


def check_portions(_: object, __: attrs.Attribute[Any], given: tuple[int, ...]) -> None:
    """Refuse numbers of patches of a mesh that no thread can have.

    >>> check_portions(None, None, (6144, 64))
    """
    size, few, _least = (*given, 0, 0, 0)[:3]
    wrong = len(given) > 3 or min(given, default=0) < 0 or (size and few > size)
    if given != (-1,) and wrong:
        raise OptionError(
            f"No thread has patches {given}.",
            hints=(
                "Give (elements of a patch, elements computed at a time, bytes of the arrays from "
                "which a call has patches). 0 leaves a number to the model, (-1,) is for none.",
            ),
        )
