"""Tell whether a shared library is whole, before the dynamic loader maps it.

A linker that runs out of disk space can leave a file that is too short or has holes. The loader
maps such a file without a complaint, and the process dies of SIGBUS when it touches a missing page.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from typing import Final, TypeAlias

_MAGIC: Final = b"\x7fELF"
# Only what is asked for; the rest is skipped. Named tuples would take longer to make than to use.
_HEADER: Final = "16xH14xQQ6x5H"
_SEGMENT: Final = "I4xQQ8xQ16x"
_SECTION: Final = "4xI16xQQI20x"
_SYMBOL: Final = "I2xHQQ"
_SHARED, _LOADED = 3, 1  # kinds of files and segments
_UNUSED, _DYNAMIC, _NO_BITS, _SYMBOLS = 0, 6, 8, 11  # kinds of sections

_Table: TypeAlias = tuple[int, int, int]  # place, rows, bytes of a row
_Segment: TypeAlias = tuple[int, ...]  # kind, offset, address, size
_Section: TypeAlias = tuple[int, ...]  # kind, offset, size, link


def fault_in(library: bytes, symbol: str | None = None) -> str | None:
    """Return why a shared library is incomplete, None if it is whole.

    Every segment and section must lie inside the file, and `symbol`, if given, must be a function
    with code. Systems whose libraries are not ELF files get no check.

    >>> fault_in(b"") if sys.platform == "linux" else "It is empty."
    'It is empty.'
    """
    if not sys.platform.startswith("linux"):
        return None
    if not library:
        return "It is empty."
    if library[:4] != _MAGIC or len(library) < 64:
        return "It is no ELF file."
    if library[4] != 2:  # 32 bits
        return None
    order = "<" if library[5] == 1 else ">"
    kind, segments_at, sections_at, *rest = struct.unpack_from(order + _HEADER, library)
    segment_size, segment_count, section_size, section_count, names = rest
    if kind != _SHARED:
        return "It is no shared library."
    problem = _misplaced_table(
        len(library), "program", (segments_at, segment_count, segment_size), _SEGMENT
    ) or _misplaced_table(
        len(library), "section", (sections_at, section_count, section_size), _SECTION
    )
    if problem is not None:
        return problem
    segments = [*_rows(library, order + _SEGMENT, segments_at, segment_count)]
    sections = [*_rows(library, order + _SECTION, sections_at, section_count)]
    problem = _misplaced_part(library, names, segments, sections)
    if problem is not None or symbol is None:
        return problem
    return _missing(library, order, segments, sections, symbol)


def _misplaced_table(size: int, name: str, table: _Table, layout: str) -> str | None:
    """Return whether a table of the file lies beyond its end."""
    start, count, row = table
    if not start or not count or row != struct.calcsize("<" + layout):
        return f"It has no {name} headers."
    if start + count * row > size:
        return f"Its {name} headers end at byte {start + count * row} of {size}."
    return None


def _misplaced_part(
    library: bytes, names: int, segments: list[_Segment], sections: list[_Section]
) -> str | None:
    """Return which part of the file lies beyond its end, or was never written."""
    size = len(library)
    for number, (_, offset, _, length) in enumerate(segments):
        if offset + length > size:
            return f"Its segment {number} ends at byte {offset + length} of {size}."
    if names >= len(sections) or sections[names][0] == _UNUSED:
        return "Its section headers are empty."
    for number, (kind, offset, length, _) in enumerate(sections):
        if kind != _NO_BITS and offset + length > size:
            return f"Its section {number} ends at byte {offset + length} of {size}."
        if kind == _DYNAMIC and not any(library[offset : offset + length]):
            return "Its dynamic section is empty."
    return None


def _missing(
    library: bytes, order: str, segments: list[_Segment], sections: list[_Section], symbol: str
) -> str | None:
    """Return what is wrong with a function that the library must export."""
    wanted = symbol.encode() + b"\0"
    for kind, offset, length, link in sections:
        if kind != _SYMBOLS:
            continue
        names = sections[link][1] if link < len(sections) else 0
        count = length // struct.calcsize(order + _SYMBOL)
        for name, section, address, size in _rows(library, order + _SYMBOL, offset, count):
            if section and library.startswith(wanted, names + name):
                is_empty = not any(_code(library, segments, address, size))
                return f"Its function '{symbol}' has no code." if is_empty else None
    return f"It has no function '{symbol}'."


def _code(library: bytes, segments: list[_Segment], address: int, length: int) -> bytes:
    for kind, offset, start, size in segments:
        if kind == _LOADED and 0 <= address - start < size:
            place = offset + address - start
            return library[place : place + length]
    return b""


def _rows(library: bytes, layout: str, start: int, count: int) -> Iterator[tuple[int, ...]]:
    return struct.iter_unpack(layout, library[start : start + count * struct.calcsize(layout)])
