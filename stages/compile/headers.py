"""Record which headers a compilation read, and compare them later."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Final

from ...runtime.process.sha256 import sha256

_VARIABLES: Final = ("CPATH", "CPLUS_INCLUDE_PATH")
_known: Final[dict[str, tuple[tuple[int, int, int], str]]] = {}  # by path: stamp and digest


def headers_of(rule: str) -> tuple[str, ...]:
    """Return the headers in the text of a rule that the compiler wrote for `make`.

    Names without a folder are files of the build itself, and left out.
    """
    text = rule.partition(": ")[2].replace("\\\n", " ").replace("\\ ", "\0")
    names = (name.replace("\0", " ").replace("$$", "$") for name in text.split())
    return tuple(sorted({name for name in names if os.path.isabs(name)}))


def digests(
    headers: Iterable[str], flags: Iterable[str], variables: Mapping[str, str], began: int
) -> dict[str, str]:
    """Digest headers, and the listings of folders in which a new header would take precedence.

    Without headers the folders do not count. A header that was written after the compiler `began`,
    in ns since 1970, may differ from what the compiler read.
    """
    found = {header: _digest(header) for header in headers}
    found |= {header: "edited" for header in found if _written(header) >= began}
    return found | {folder: _digest(folder) for folder in _folders(flags, variables) if found}


def still_hold(manifest: bytes) -> bool:
    """Tell whether the headers in the manifest of a library are unchanged."""
    recorded = json.loads(manifest).get("headers", {})
    return all(_digest(path) == digest for path, digest in recorded.items())


def _folders(flags: Iterable[str], variables: Mapping[str, str]) -> list[str]:
    named = [flag[2:] for flag in flags if flag.startswith("-I")]
    for name in _VARIABLES:
        named += variables.get(name, "").split(os.pathsep)
    return [os.path.abspath(folder) for folder in named if folder]


def _digest(path: str) -> str:
    """Digest a file, or the names in a folder; treat an unreadable path as absent."""
    try:
        found = os.stat(path)
        stamp = (found.st_size, found.st_mtime_ns, found.st_ino)
        if path not in _known or _known[path][0] != stamp:
            _known[path] = stamp, sha256(_content(path))[:16]
        return _known[path][1]
    except OSError:
        return "absent"


def _written(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _content(path: str) -> bytes:
    if os.path.isdir(path):
        return "\0".join(sorted(os.listdir(path))).encode(errors="surrogateescape")
    with open(path, "rb") as stream:
        return stream.read()
