"""A module that other processes can import, and objects that go there and come back."""

import importlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@contextmanager
def importable(name: str, text: str, folder: Path) -> Iterator[ModuleType]:
    """Write a module, import it, and forget it afterwards."""
    (folder / f"{name}.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module(name)
        sys.modules.pop(name, None)


def there_and_back(value: Any) -> Any:
    """Return what comes out of a pickle of `value`."""
    return pickle.loads(pickle.dumps(value))
