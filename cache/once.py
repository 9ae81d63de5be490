"""Build a result once for all processes that want it; they share the result or the error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..runtime.process.errors import CompilationError
from .store import Store

T = TypeVar("T")


def build_once(
    store: Store,
    key: str,
    find: Callable[[], T | None],
    build: Callable[[], T],
    limit: float = 120.0,
) -> T:
    """Build under `key` in one process while the others wait, at most `limit` seconds.

    Processes that waited find the result, or get the same `CompilationError`.
    """
    known = store.failure(key)
    with store.lock(key, limit):
        found = find()
        if found is not None:
            return found
        failed = store.failure(key)
        if failed is not None and (known is None or failed.token != known.token):
            raise failed.error()
        try:
            return build()
        except CompilationError as error:
            store.keep_failure(key, error)
            raise
