"""Digest values by their meaning: equal values have equal digests in every process.

Every value is written as a type tag, a length and its bytes; a container as a tag and the SHA-256
of its parts. Nothing depends on `id`, `hash`, `repr` or the order of a set,
and two values of different types never share a digest.
"""

from __future__ import annotations

import enum
import functools
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType
from typing import Any, Final, TypeAlias

import numpy as np

from ..runtime.language import Dimension
from ..runtime.process import classes
from ..runtime.process.sha256 import sha256 as digest_of
from .functions import describe, has_global_name, home, is_ours

SHORT: Final = 2048  # bytes of a file whose digest is remembered

_length: Final = struct.Struct(">Q").pack
_SHORT_TEXT: Final = 80  # a label, an option or a digest comes in many keys

Part: TypeAlias = tuple[str, Any]  # how a person reaches it, and the value


def fingerprint(value: Any) -> str:
    """Digest `value` as 64 hexadecimal digits.

    Raises `TypeError` with the path to the first part that has no canonical form, and
    `ValueError` when a container contains itself.

    >>> fingerprint((1, "a")) == fingerprint((1, "a"))
    True
    >>> len({fingerprint(True), fingerprint(1), fingerprint(1.0)})
    3
    >>> fingerprint({"passes": [object()]})
    Traceback (most recent call last):
    TypeError: Cannot fingerprint 'object' at value['passes'][0].
    """
    frames = [_Frame(b"R", None, iter([("value", value)]))]
    done: dict[int, tuple[Any, bytes]] = {}  # keeps the value, so that its id stays its own
    while True:
        frame = frames[-1]
        step = next(frame.parts, None)
        if step is None:
            code = frame.close()
            frames.pop()
            if not frames:
                return code[1:].hex()
            done[id(frame.value)] = frame.value, code
            frames[-1].codes.append(code)
            continue
        frame.label, part = step
        if (atom := _atom(part)) is not None:
            frame.codes.append(atom)
        elif id(part) in done:
            frame.codes.append(done[id(part)][1])
        else:
            _descend(part, frames)


def components_key(components: Mapping[str, str]) -> str:
    """Make the key of labelled components; their order does not count.

    >>> components_key({"a": "1", "b": "2"}) == components_key({"b": "2", "a": "1"})
    True
    """
    return _digest_of_pairs(b"fieldforge.key.1", sorted(components.items()))


def artifact_digest(files: Mapping[str, bytes]) -> str:
    """Digest an artifact by the names and contents of its files.

    >>> artifact_digest({"a": b""}) == artifact_digest({"b": b""})
    False
    """
    return rows_digest([(name, sha256(content)) for name, content in files.items()])


def rows_digest(rows: Iterable[tuple[str, str]]) -> str:
    """Digest an artifact of which the SHA-256 of every file is known already."""
    return _rows_digest(tuple(sorted(rows)))


@functools.lru_cache(maxsize=1024)  # makers, checkers and receivers of a record all need it
def _rows_digest(rows: tuple[tuple[str, str], ...]) -> str:
    return _digest_of_pairs(b"fieldforge.artifact.1", rows)


def _digest_of_pairs(tag: bytes, pairs: Sequence[tuple[str, str]]) -> str:
    """Digest pairs of texts, each written as by `_atom_text`: this is most of what keys cost."""
    texts = [
        _short_text(text) if len(text) <= _SHORT_TEXT else _atom_text(text)
        for pair in pairs
        for text in pair
    ]
    head = [_length(len(tag)), tag, _length(len(pairs))]
    return digest_of(b"".join(head + texts))


def sha256(content: bytes) -> str:
    """Digest bytes as they are."""
    is_short = type(content) is bytes and len(content) <= SHORT
    return _sha256_of_short(content) if is_short else digest_of(content)


@functools.lru_cache(maxsize=1024)
def _sha256_of_short(content: bytes) -> str:
    return digest_of(content)


class _Frame:
    """A container that is being read: the parts to come, the codes of those that are done."""

    __slots__ = ("codes", "label", "ordered", "parts", "tag", "value")

    def __init__(self, tag: bytes, value: Any, parts: Iterator[Part], ordered: bool = True) -> None:
        self.tag, self.value, self.parts, self.ordered = tag, value, parts, ordered
        self.label = ""
        self.codes: list[bytes] = []

    def close(self) -> bytes:
        codes = self.codes if self.ordered else sorted(self.codes)
        return self.tag + bytes.fromhex(_digest(self.tag, codes))


class _Entry:
    """One key and value of a dictionary; the dictionary is the set of its entries."""

    __slots__ = ("key", "value")

    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value


def _descend(part: Any, frames: list[_Frame]) -> None:
    if any(frame.value is part for frame in _suspects(frames)):
        raise ValueError(f"Cannot fingerprint {_path(frames)}: it contains itself.")
    opened = _open(part)
    if opened is None:
        kind = type(part).__qualname__
        raise TypeError(f"Cannot fingerprint '{kind}' at {_path(frames)}.")
    frames.append(opened)


def _suspects(frames: list[_Frame]) -> list[_Frame]:
    """Return the frames to search for a loop: all of them, but only now and then when it is deep.

    A loop makes the depth grow without end, so a search at each power of two finds it
    and keeps the work linear in the depth.
    """
    depth = len(frames)
    return frames if depth < 32 or depth & (depth - 1) == 0 else []


def _path(frames: list[_Frame]) -> str:
    return "".join(frame.label for frame in frames)


def _digest(tag: bytes, codes: list[bytes]) -> str:
    head = struct.pack(">Q", len(tag)) + tag + struct.pack(">Q", len(codes))
    return digest_of(head + b"".join(codes))


def _atom(value: Any) -> bytes | None:
    """Write a value without parts; None for anything else."""
    kind = type(value)
    if kind is str:
        return _atom_text(value)
    if kind is int:
        return _tagged(b"i", b"%x" % value)
    if kind is bool:
        return _tagged(b"b", b"1" if value else b"0")
    if value is None:
        return _tagged(b"n", b"")
    if kind is float:
        return _tagged(b"f", struct.pack(">d", value))
    if kind is bytes:
        return _tagged(b"y", value)
    if kind is Dimension:
        return _tagged(b"D", _atom_text(value.value) + _atom_text(value.kind.value))
    if isinstance(value, np.generic) and _is_plain(value.dtype):
        spelled = value.dtype.newbyteorder("<")
        return _tagged(b"s", _atom_text(spelled.str) + np.asarray(value, spelled).tobytes())
    if isinstance(value, np.dtype) and _is_plain(value):
        return _tagged(b"d", _atom_text(value.str))
    return None


def _atom_text(value: str) -> bytes:
    content = value.encode("utf-8", "surrogatepass")  # as `_tagged` does: this is most of a key
    return b"t" + len(content).to_bytes(8, "big") + content


_short_text = functools.lru_cache(maxsize=4096)(_atom_text)


def _tagged(tag: bytes, content: bytes) -> bytes:
    return tag + struct.pack(">Q", len(content)) + content


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Tell numbers without padding bytes from structures, objects and long doubles."""
    return dtype.kind in "biu" or (dtype.kind, dtype.itemsize) in {
        ("f", 2),
        ("f", 4),
        ("f", 8),
        ("c", 8),
        ("c", 16),
    }


def _open(value: Any) -> _Frame | None:
    """Start reading the parts of `value`; None when it has no canonical form."""
    kind = type(value)
    if kind in _SEQUENCES:
        labelled = ((f"[{index}]", part) for index, part in enumerate(value))
        return _Frame(_SEQUENCES[kind], value, labelled, ordered=kind in (tuple, list))
    if kind in (dict, MappingProxyType):
        entries = ((f"[{key!r}]", _Entry(key, part)) for key, part in value.items())
        return _Frame(b"M", value, entries, ordered=False)
    if kind is _Entry:
        return _Frame(b"E", value, iter([(".key", value.key), ("", value.value)]))
    if isinstance(value, enum.Enum):
        return _named(b"U", kind, value, [(".name", value.name), (".value", value.value)])
    if kind is functools.partial:
        parts = [(".func", value.func), (".args", value.args), (".keywords", value.keywords)]
        return _Frame(b"P", value, iter(parts))
    if kind is MethodType:
        parts = [(".__func__", value.__func__), (".__self__", value.__self__)]
        return _Frame(b"B", value, iter(parts))
    if isinstance(value, FunctionType | BuiltinFunctionType | type):
        return _open_code(value)
    return _open_instance(value)


_SEQUENCES: Final[dict[type, bytes]] = {tuple: b"T", list: b"L", frozenset: b"Z", set: b"S"}
_BY_IDENTITY: Final[Any] = object.__eq__


def _open_instance(value: Any) -> _Frame | None:
    """Read an attrs value or a named tuple: its class by name, and the fields that it compares."""
    kind = type(value)
    if isinstance(value, tuple):
        names = getattr(kind, "_fields", None)
        if names is None:
            return None
        return _named(b"K", kind, value, [(f".{n}", p) for n, p in zip(names, value, strict=True)])
    ours = "__own_fields__" in kind.__dict__
    fields = classes.fields(kind) if ours else kind.__dict__.get("__attrs_attrs__")
    if fields is None or kind.__eq__ is _BY_IDENTITY:  # such a class has no value to digest
        return None
    parts = [(".__class__", kind)] if callable(value) and not is_ours(kind.__module__) else []
    for field in fields:
        if field.eq:
            part, key = getattr(value, field.name), None if ours else field.eq_key
            parts.append((f".{field.name}", key(part) if key else part))
    return _named(b"A", kind, value, parts)


def _open_code(value: Any) -> _Frame | None:
    """Read a function or class: by name if that identifies it, else with its text and cells."""
    if isinstance(value, BuiltinFunctionType):
        module = sys.modules.get(value.__module__ or "")
        is_named = getattr(module, value.__name__, None) is value
        return _named(b"Q", value, value, []) if is_named else None
    if has_global_name(value) and (is_ours(home(value)) or home(value) in ("builtins", "numpy")):
        return _named(b"Q", value, value, [])
    text = describe(value)
    if text is None:
        return None
    parts: list[Part] = [(".__code__", text)]
    if isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        parts += [(".__defaults__", value.__defaults__), (".__kwdefaults__", value.__kwdefaults__)]
        parts += [(f".{name}", _content(cell, value)) for name, cell in cells]
    return _named(b"C", value, value, parts)


def _content(cell: Any, function: FunctionType) -> Any:
    """Return what a closure cell holds; a function that calls itself counts as its name."""
    try:
        content = cell.cell_contents
    except ValueError:  # still empty
        return None
    return content.__qualname__ if content is function else content


def _named(tag: bytes, named: Any, value: Any, parts: list[Part]) -> _Frame:
    name = [(".__module__", named.__module__), (".__qualname__", named.__qualname__)]
    return _Frame(tag, value, iter([*name, *parts]))
