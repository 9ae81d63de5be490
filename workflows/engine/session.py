"""The engine that decorated functions use: that of the process, or of a `with` block."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...cache.opening import open_store
from ...runtime.process.log import get_logger
from ...runtime.process.settings import Settings, current
from .engine import Engine
from .events import log_event

ROUTINE = ("store.kept", "store.swept", "store.pruned")

_chosen: list[Engine] = []


class StoreWarning(UserWarning):
    """The store could not read or write something, so that it is built again."""


def engine() -> Engine:
    """Return the engine of this process; its store is opened at first use.

    >>> type(engine()).__name__
    'Engine'
    """
    return _chosen[-1] if _chosen else _engine_for(current())


@contextmanager
def using(chosen: Engine) -> Iterator[Engine]:
    """Use the engine `chosen` for every build inside the block, in all threads.

    >>> with using(Engine()) as own:
    ...     engine() is own
    True
    """
    _chosen.append(chosen)
    try:
        yield chosen
    finally:
        _chosen.remove(chosen)


@functools.lru_cache(maxsize=8)
def _engine_for(settings: Settings) -> Engine:
    store = open_store(settings, tell_of_store)
    if not settings.dump:
        return Engine(store, observers=[log_event])
    from .dump import Dump

    dump = Dump(settings.cache_dir / "dump", frozenset(settings.dump))
    return Engine(store, observers=[log_event], dump=dump)


def tell_of_store(name: str, **facts: Any) -> None:
    """Log an event of the store; a fault, which has an error for the user, is a warning too."""
    logger = get_logger("fieldforge.store")
    (logger.debug if name in ROUTINE else logger.warning)(name, **facts)
    error = facts.get("error")
    if error is not None:
        warnings.warn(StoreWarning(str(error)), stacklevel=2)
