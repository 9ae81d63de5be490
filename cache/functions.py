"""Return the code of a function or class: its own text and the text of its module."""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from types import FunctionType
from typing import Any, TypeAlias

from ..runtime.process import PYTHON_PARSER
from ..runtime.process.sha256 import sha256

PACKAGE = __name__.partition(".")[0]

Code: TypeAlias = FunctionType | type

_seen: weakref.WeakKeyDictionary[Any, tuple[str | None, ...] | None] = weakref.WeakKeyDictionary()
_guard = threading.Lock()


def is_ours(module: str | None) -> bool:
    """Tell whether `module` belongs to this package, whose sources are in every key."""
    return module is not None and module.partition(".")[0] == PACKAGE


def home(item: Code) -> str:
    """Name the module whose text `item` was made from; a wrapper may carry another name."""
    if isinstance(item, FunctionType):
        return str(item.__globals__.get("__name__", ""))
    return item.__module__


def has_global_name(item: Code) -> bool:
    """Tell whether the qualified name alone identifies the function or class."""
    name = item.__code__.co_qualname if isinstance(item, FunctionType) else item.__qualname__
    return "<" not in name


def describe(item: Code) -> tuple[str | None, ...] | None:
    """Return the text that `item` was made from and the digest of its module; None without text.

    The module counts because a function calls the helpers beside it; other modules do not. The
    result is kept for each object, so editing a file under a running process does not change the
    text of code that is loaded already.
    """
    with _guard:
        if item in _seen:
            return _seen[item]
    found = _describe(item)
    with _guard:
        return _seen.setdefault(item, found)


def _describe(item: Code) -> tuple[str | None, ...] | None:
    try:
        with PYTHON_PARSER:  # a class is found in the tree of its module
            text = inspect.getsource(item.__code__ if isinstance(item, FunctionType) else item)
    except (OSError, TypeError):
        return None
    place = None
    if isinstance(item, FunctionType) and item.__code__.co_name == "<lambda>":
        place = _position(item)
        if place is None:
            return None
    return text, _module_digest(item), place


def _position(function: FunctionType) -> str | None:
    """Tell the lambdas of one line apart by the columns of their instructions."""
    columns = [column for _, _, column, _ in function.__code__.co_positions() if column is not None]
    return f"{min(columns)}-{max(columns)}" if columns else None


def _module_digest(item: Code) -> str | None:
    """Digest the file of the module; None in a notebook or a prompt, where there is no file."""
    if isinstance(item, FunctionType):
        file = item.__globals__.get("__file__")
    else:
        file = getattr(sys.modules.get(item.__module__), "__file__", None)
    if not file:
        return None
    try:
        with open(file, "rb") as stream:
            return sha256(stream.read())
    except OSError:
        return None
