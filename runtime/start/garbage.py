"""A block of imports without garbage collections.

Imports make many objects that stay. Python's collector would look for garbage among them again and
again: in 6 % of our own imports, in a quarter of those of DaCe.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """Collect no garbage in this block, and never look at its objects as at new ones."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else the objects that the user froze would thaw
            gc.freeze()
            gc.unfreeze()  # to the oldest generation
        if was_enabled:
            gc.enable()
