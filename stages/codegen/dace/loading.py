"""Import DaCe: half of a cold build.

The modules of DaCe and of what it imports make ninety thousand objects that stay. Python's garbage
collector would look for garbage among them three hundred times, for a quarter of the import.
"""

from __future__ import annotations

import gc
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Everything that a build by default imports of DaCe.
MODULES: Final = (
    "dace",
    "dace.codegen.codegen",
    "dace.transformation.pass_pipeline",
    "dace.transformation.passes.simplify",
    "dace.transformation.dataflow",
)
_lock: Final = threading.Lock()


def load_dace() -> None:
    """Import the modules of a build, without garbage collections in between."""
    if all(name in sys.modules for name in MODULES):
        return
    with _lock, _without_collections():
        for name in MODULES:
            importlib.import_module(name)


@contextmanager
def _without_collections() -> Iterator[None]:
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
