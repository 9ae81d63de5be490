"""Addresses of programs in commands and lock files: `package.module:name`, `file.py:name`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ...runtime.process import FieldforgeError


class AddressError(FieldforgeError, LookupError):
    """An address names no module or file, or nothing inside it."""


def load_module(where: str) -> ModuleType:
    """Import a module by its name, or a file by its path."""
    file = Path(where)
    if file.suffix == ".py":
        return _load_file(file)
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        raise AddressError(f"Module '{where}' cannot be imported: {error}.") from error


def _load_file(file: Path) -> ModuleType:
    if not os.path.isfile(file):  # False for a name that no file system takes, too
        raise AddressError(f"There is no file '{file}'.")
    sys.path.insert(0, str(file.resolve().parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None, "a file that ends in .py has a spec"
    assert spec.loader is not None, "and a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def address_of(function: Callable[..., Any], folder: str = ".") -> str:
    """Return the address of a function: its module, or its file relative to `folder`.

    The address has the file if it was run as a script, or lies below `folder` in no package.
    """
    module, name = function.__module__, function.__qualname__
    found = sys.modules.get(module)
    file = getattr(found, "__file__", None)
    if "<locals>" in name or found is None:
        raise AddressError(
            f"'{name}' is defined inside a function, so it has no address.",
            hints=["Define it at the top level of a module."],
        )
    path = os.path.relpath(file, folder) if file else ""
    is_beside = bool(path) and "." not in module and not path.startswith("..")
    if module != "__main__" and not is_beside:
        return f"{module}:{name}"
    if not path:
        raise AddressError(f"'{name}' is in no file.", hints=["Write it to a module."])
    if path.startswith(".."):  # which `find_inside` would refuse
        raise AddressError(
            f"'{name}' is in '{path}', outside the folder of the file that is to name it.",
            hints=["Write that file to a folder above its programs."],
        )
    return f"{path}:{name}"


def find_inside(address: str, folder: str) -> Any:
    """Return the object at an address of a file: in a module, or in a file below `folder`.

    The words of an address are identifiers. A path that leads out of the folder is refused before
    anything is imported.
    """
    where, _, name = address.rpartition(":")
    is_file = where.endswith(".py")
    words = name.split(".") if is_file else [*where.split("."), *name.split(".")]
    if not (where.isprintable() and all(map(str.isidentifier, words))):
        raise AddressError(f"{address!r} is no address, expected 'MODULE:NAME' or 'FILE.py:NAME'.")
    root = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(root, where))
    if is_file and os.path.commonpath([root, path]) != root:
        raise AddressError(
            f"'{address}' leads out of the folder '{root}' of the file that names it.",
            hints=["Move that file to a folder above its programs."],
        )
    return find(address, folder)


def find(address: str, folder: str = ".") -> Any:
    """Return the object at an address."""
    where, _, name = address.rpartition(":")
    value: Any = load_module(os.path.join(folder, where) if where.endswith(".py") else where)
    for part in name.split("."):
        if not hasattr(value, part):
            raise AddressError(f"'{where}' has no '{name}'.")
        value = getattr(value, part)
    return value
