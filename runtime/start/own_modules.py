"""Find the modules of this package with fewer looks at the file system.

A first result imports 200 to 300 modules. For each, Python's finder looks at folders, asks for
every suffix that a module may have, and looks at the source and its bytecode again to read them:
14 system calls, half of what an import takes. Here a module is its source, with bytecode beside it
that Python wrote for this very source. Whatever is not like that, Python's finders find as ever.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Final

_HEAD: Final = 16  # bytes before the code: Python's version, flags, time and size of the source
_LIMIT: Final = 1 << 16  # no bytecode of ours is as long; memory for more is mapped anew each time


def find_own_modules(of: ModuleSpec) -> None:
    """Let modules below the package `of` be found so, if its own bytecode is where it should be."""
    folder, name = os.path.split(of.origin or "")
    kept, cached = os.path.split(of.cached or "")
    if kept != os.path.join(folder, "__pycache__"):
        return  # it is elsewhere: in an archive, or below PYTHONPYCACHEPREFIX
    try:
        version = _read(f"{kept}/{cached}")[:8]
    except OSError:
        return
    suffix = cached.removeprefix(name.removesuffix(".py"))
    if version[4:] == bytes(4):  # else it is checked by hashes, or not at all
        sys.meta_path.insert(0, _Finder(f"{of.name}.", version, suffix))


class _Finder:
    """Find modules whose names begin with `prefix`; `suffix` is that of bytecode."""

    def __init__(self, prefix: str, version: bytes, suffix: str) -> None:
        self._prefix, self._version, self._suffix = prefix, version, suffix

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module with valid bytecode, or leave it to the next finder."""
        if not name.startswith(self._prefix):
            return None
        stem = name.rpartition(".")[2]
        for folder in path or ():
            found = self._spec(name, folder, stem) or self._spec(
                name, f"{folder}/{stem}", "__init__"
            )
            if found is not None:
                return found
        return None

    def _spec(self, name: str, folder: str, stem: str) -> ModuleSpec | None:
        source, cached = f"{folder}/{stem}.py", f"{folder}/__pycache__/{stem}{self._suffix}"
        try:
            seen = os.stat(source)
            content = _read(cached)
        except OSError:
            return None
        stamp = int(seen.st_mtime) & 0xFFFFFFFF | (seen.st_size & 0xFFFFFFFF) << 32
        if content[:_HEAD] != self._version + stamp.to_bytes(8, "little"):
            return None
        loader = _Loader(name, source, marshal.loads(memoryview(content)[_HEAD:]))
        spec = ModuleSpec(name, loader, origin=source, is_package=stem == "__init__")
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        spec.has_location, spec.cached = True, cached
        return spec


class _Loader(SourceFileLoader):
    """Python's loader of sources; the first question for the code finds it there."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> Any:
        code, self._code = self._code, None
        return code or super().get_code(fullname)


def _read(path: str) -> bytes:
    """Read a short file in three calls."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = os.read(descriptor, _LIMIT)
    finally:
        os.close(descriptor)
    if len(content) == _LIMIT:
        raise OSError("The file is too long.")
    return content
