"""Digest the code that makes a result: the toolchain's own sources, and the user's.

The digest of an installed wheel comes from its list of files, that of a working copy from its
sources. In a working copy a stage counts only the modules that it reaches by its imports, so that
work on one stage keeps the results of the others valid.
"""

from __future__ import annotations

import functools
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, Final

from ..runtime.process import classes
from ..runtime.process.sha256 import sha256
from .files import keep_note, read_file, read_note
from .fingerprint import components_key, fingerprint
from .functions import PACKAGE, home, is_ours
from .known_digests import KnownDigests, Stamp, stamp_of
from .sealed import seal, unseal

FOLDERS: Final = ("cache", "runtime", "stages", "workflows")
_SUFFIXES: Final = (".py", ".h", ".hpp", ".cpp")
_ROOT: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STARTED: Final = time.time_ns()
_RACY: Final = 2 * 10**9  # ns; a file this young may change again under the same time stamp
_KIND: Final = "fieldforge-sources-1"
_LIMIT: Final = 64 << 20
_IMPORT: Final = (  # compiled where sources are read
    rf"^[ \t]*(?:from[ \t]+(\.+[\w.]*|{PACKAGE}[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    rf"|import[ \t]+({PACKAGE}[\w.]*))"
)


@classes.frozen
class Source:
    """One file of the toolchain: its stamp, digest, and the modules that it names in imports."""

    stamp: Stamp
    digest: str
    imports: tuple[str, ...]


def toolchain_digest(*modules: str, memo: str | os.PathLike[str] | None = None) -> str:
    """Digest the toolchain's own code, or what `modules` can reach of it.

    Module names may be given in full or from the package down, as `stages.lower`. Computed once per
    process, because code that is loaded does not change. `memo` names a file, such as
    `sources.json` in `Store.notes`, that remembers digests by size, time and inode.
    """
    names = tuple(sorted({name.removeprefix(f"{PACKAGE}.") for name in modules}))
    return _toolchain_digest(names, os.fspath(memo) if memo is not None else None)


def code_digest(value: Any, memo: str | os.PathLike[str] | None = None) -> str | None:
    """Digest all code that takes part when `value`, a stage with its options, is run.

    A stage of ours counts with the modules that its class, and every class and function among
    its options, can reach. A stage of a user's counts with its source and the whole toolchain.
    None means that the source cannot be had, so the result must not outlive the process.
    """
    kinds = [kind for kind in type(value).__mro__ if kind is not object]
    foreign = [kind for kind in kinds if not _is_known(kind)]
    if foreign:
        texts = tuple(function_digest(kind) for kind in foreign)
        return None if None in texts else fingerprint((texts, toolchain_digest(memo=memo)))
    if _wheel_record() is not None:  # its digest is the same for all modules
        return toolchain_digest(memo=memo)
    return toolchain_digest(*sorted(set(_modules(value))), memo=memo)


def function_digest(function: Any) -> str | None:
    """Digest a function or class of a user's: its text, its module, and what it closes over.

    None if the text cannot be had, or it closes over something that has no digest.

    >>> function_digest(len) == function_digest(print)
    False
    >>> function_digest(object().__str__) is None
    True
    """
    try:
        return fingerprint(function)
    except (TypeError, ValueError):
        return None


def read_sources(root: str, memo: str | None) -> dict[str, Source]:
    """Return the files of the toolchain by their path below `root`."""
    return _described(root, _files(root), memo)


def _described(
    root: str, files: Iterable[tuple[str, Stamp]], memo: str | None
) -> dict[str, Source]:
    known = _recall(memo)
    sources = {}
    young = time.time_ns() - _RACY
    for name, stamp in files:
        old = known.get(name)
        read = _read_once if stamp[1] < young else _read
        sources[name] = old if old and old.stamp == stamp else read(root, name, stamp)
    settled = {name: source for name, source in sources.items() if source.stamp[1] < young}
    if memo is not None and settled != known:
        _remember(memo, settled)
    return sources


def reach(
    sources: dict[str, Source], modules: Iterable[str], known: dict[str, list[str]] | None = None
) -> tuple[str, ...]:
    """Return the files that `modules` import, directly or not, and the packages around them.

    `known` remembers the files of a module for the next question about the same sources.
    """
    found: dict[str, list[str]] = {} if known is None else known
    waiting, seen = [tuple(modules)], set()
    while waiting:
        for module in waiting.pop():
            if module not in found:
                found[module] = _paths(sources, module)
            for path in found[module]:
                if path not in seen:
                    seen.add(path)
                    waiting.append(sources[path].imports)
    return tuple(sorted(seen))


@functools.lru_cache(maxsize=256)
def _toolchain_digest(modules: tuple[str, ...], memo: str | None) -> str:
    record = _wheel_record()
    if record is not None:
        return fingerprint(("wheel", record))
    known, wanted = _known(memo), " ".join(modules)
    settled = min(_STARTED, time.time_ns() - _RACY)
    told = known.digest(wanted, settled) if known is not None else None
    if told is not None:
        return told
    folders, sources = _sources(memo)
    names = reach(sources, modules, _places(memo)) if modules else tuple(sources)
    if modules and not all(_paths(sources, module) for module in modules):
        names = tuple(sources)  # not one of our files: digest them all
    used = components_key({name: sources[name].digest for name in names})
    found = fingerprint(("sources", used, _loaded_code(sources, names)))
    stamps = {**folders, **{name: sources[name].stamp for name in names}}
    if known is not None and all(time < settled for _, time, _ in stamps.values()):
        known.add(wanted, found, stamps)
    return found


@functools.lru_cache(maxsize=8)
def _known(memo: str | None) -> KnownDigests | None:
    return KnownDigests(_ROOT, f"{memo}-digests") if memo else None


@functools.lru_cache(maxsize=8)
def _sources(memo: str | None) -> tuple[dict[str, Stamp], dict[str, Source]]:
    """Return the stamps of all folders, and the sources in them, which were looked at later."""
    folders, files = _stamps(_ROOT)
    return folders, _described(_ROOT, files, memo)


@functools.lru_cache(maxsize=1)
def _stamps(root: str) -> tuple[dict[str, Stamp], tuple[tuple[str, Stamp], ...]]:
    """Look at all folders, then at the sources in them, once in a process."""
    folders = {name: stamp for name in _folders(root) if (stamp := stamp_of(f"{root}/{name}"))}
    return folders, tuple(_files(root))


@functools.lru_cache(maxsize=8)
def _places(_: str | None) -> dict[str, list[str]]:
    """Remember the files of modules among the sources of one memo."""
    return {}


def _loaded_code(sources: dict[str, Source], names: Iterable[str]) -> bytes:
    """Return nothing, or a random salt when a file was edited after this process had started.

    Then nobody can tell which version is loaded, and nothing this process makes may be
    taken for the work of either.
    """
    now = time.time_ns()
    edited = any(_STARTED < sources[name].stamp[1] <= now for name in names)
    return _process_salt() if edited else b""


@functools.lru_cache(maxsize=1)
def _process_salt() -> bytes:
    return os.urandom(16)


@functools.lru_cache(maxsize=1)
def _wheel_record() -> str | None:
    """Digest the list of installed files; None in a working copy."""
    parent = os.path.dirname(_ROOT)
    try:
        names = sorted(os.listdir(parent))
    except OSError:
        return None
    for name in names:
        if name.startswith(f"{PACKAGE}-") and name.endswith(".dist-info"):
            try:
                content = read_file(os.path.join(parent, name, "RECORD"), _LIMIT)
            except (OSError, ValueError):
                continue
            if f"{PACKAGE}/cache/code.py,sha256=".encode() in content:
                return sha256(content)
    return None


def _files(root: str) -> Iterator[tuple[str, Stamp]]:
    """Yield the sources below the four folders with their stamps, sorted within a folder."""
    for folder in _folders(root):
        try:
            names = sorted(os.listdir(os.path.join(root, folder)))
        except OSError:
            continue
        for name in names:
            if name.endswith(_SUFFIXES) and (stamp := stamp_of(f"{root}/{folder}/{name}")):
                yield f"{folder}/{name}", stamp


def _folders(root: str) -> Iterator[str]:
    """Yield the four folders and those below them, except the interpreter's own."""
    waiting = list(reversed(FOLDERS))
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(os.path.join(root, folder)), key=lambda e: e.name)
        except OSError:
            continue
        yield folder
        waiting += [
            f"{folder}/{entry.name}"
            for entry in entries
            if entry.name != "__pycache__" and entry.is_dir()
        ]


def _read(root: str, name: str, stamp: tuple[int, int, int]) -> Source:
    with open(os.path.join(root, name), "rb") as stream:
        content = stream.read()
    text = content.decode(errors="replace") if name.endswith(".py") else ""
    return Source(stamp, sha256(content), _imports(name, text))


_read_once = functools.lru_cache(maxsize=4096)(_read)  # stores have memos of their own


def _imports(name: str, text: str) -> tuple[str, ...]:
    """List the modules of ours that a source may import; listing too many is harmless."""
    package = name.split("/")[:-1]
    found = set()
    for source, names, direct in re.findall(_IMPORT, text, re.MULTILINE):
        if direct:
            found.add(direct.removeprefix(PACKAGE).lstrip("."))
            continue
        level = len(source) - len(source.lstrip("."))
        stem = source.lstrip(".") if level else source.removeprefix(PACKAGE).lstrip(".")
        around = package[: len(package) - level + 1] if level else []
        module = ".".join([*around, *([stem] if stem else [])])
        found.add(module)
        # what has a capital is a class or a constant: modules are lower case
        found.update(f"{module}.{part}" for part in re.findall(r"\w+", names) if part.islower())
    return tuple(sorted(found))


def _paths(sources: dict[str, Source], module: str) -> list[str]:
    """Return the file of `module` and the `__init__` of every package around it."""
    path = module.replace(".", "/")
    own = [found for found in (f"{path}.py", f"{path}/__init__.py") if found in sources]
    if not own:
        return []
    steps = module.split(".")
    around = ["/".join([*steps[:depth], "__init__.py"]) for depth in range(1, len(steps))]
    return own + [found for found in around if found in sources]


def _recall(memo: str | None) -> dict[str, Source]:
    """Read the memo; a damaged one counts as missing."""
    if memo is None:
        return {}
    try:
        rows = json.loads(unseal(_KIND, read_note(memo, _LIMIT)))
        return {
            name: Source((size, mtime, inode), digest, tuple(imports))
            for name, (size, mtime, inode, digest, imports) in rows.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _remember(memo: str, sources: dict[str, Source]) -> None:
    """Write the memo if the store has been made."""
    rows = {
        name: [*source.stamp, source.digest, source.imports] for name, source in sources.items()
    }
    content = seal(_KIND, json.dumps(rows, sort_keys=True))
    keep_note(*os.path.split(memo), content, make=False)


def _is_known(kind: type) -> bool:
    return is_ours(kind.__module__) or kind.__module__ in ("builtins", "typing", "abc", "enum")


def _modules(value: Any) -> Iterator[str]:
    """Yield the modules of ours whose classes and functions stand inside `value`."""
    waiting, seen = [value], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, FunctionType | type):
            if is_ours(home(part)):
                yield home(part)
            continue
        yield from (kind.__module__ for kind in type(part).__mro__ if is_ours(kind.__module__))
        waiting += _inside(part)


def _inside(part: Any) -> list[Any]:
    match part:
        case tuple() | list() | frozenset() | set():
            return list(part)
        case dict():
            return [*part.keys(), *part.values()]
        case functools.partial():
            return [part.func, part.args, part.keywords]
    return [getattr(part, field.name) for field in classes.fields(type(part))]
