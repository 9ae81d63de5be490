"""Tell whether a shared library is whole, before the dynamic loader maps it.

A linker that runs out of disk space can leave a file that is too short or has holes. The loader
maps such a file without a complaint, and the process dies of SIGBUS when it touches a missing page.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

_MAGIC: Final = b"\x7fELF"
_HEADER: Final = "16xHHIQQQIHHHHHH"
_SEGMENT: Final = "IIQQQQQQ"
_SECTION: Final = "IIQQQQIIQQ"
_SYMBOL: Final = "IBBHQQ"
_SHARED, _LOADED = 3, 1  # kinds of files and segments
_UNUSED, _DYNAMIC, _NO_BITS, _SYMBOLS = 0, 6, 8, 11  # kinds of sections


class _Header(NamedTuple):
    kind: int
    machine: int
    version: int
    entry: int
    segments: int
    sections: int
    flags: int
    size: int
    segment_size: int
    segment_count: int
    section_size: int
    section_count: int
    names: int


class _Segment(NamedTuple):
    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    size: int
    room: int
    alignment: int


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    row: int


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
    header = _Header._make(struct.unpack_from(order + _HEADER, library))
    problem = _misplaced_table(len(library), header)
    if problem is not None:
        return problem
    segments = [
        _Segment._make(row)
        for row in _rows(library, order + _SEGMENT, header.segments, header.segment_count)
    ]
    sections = [
        _Section._make(row)
        for row in _rows(library, order + _SECTION, header.sections, header.section_count)
    ]
    problem = _misplaced_part(library, header, segments, sections)
    if problem is not None or symbol is None:
        return problem
    return _missing(library, order, segments, sections, symbol)


def _misplaced_table(size: int, header: _Header) -> str | None:
    """Return which table of the file lies beyond its end."""
    if header.kind != _SHARED:
        return "It is no shared library."
    tables = (
        ("program", header.segments, header.segment_count, header.segment_size, _SEGMENT),
        ("section", header.sections, header.section_count, header.section_size, _SECTION),
    )
    for name, start, count, row, layout in tables:
        if not start or not count or row != struct.calcsize("<" + layout):
            return f"It has no {name} headers."
        if start + count * row > size:
            return f"Its {name} headers end at byte {start + count * row} of {size}."
    return None


def _misplaced_part(
    library: bytes, header: _Header, segments: list[_Segment], sections: list[_Section]
) -> str | None:
    """Return which part of the file lies beyond its end, or was never written."""
    size = len(library)
    for number, segment in enumerate(segments):
        if segment.offset + segment.size > size:
            return f"Its segment {number} ends at byte {segment.offset + segment.size} of {size}."
    if header.names >= len(sections) or sections[header.names].kind == _UNUSED:
        return "Its section headers are empty."
    for number, section in enumerate(sections):
        end = section.offset + section.size
        if section.kind != _NO_BITS and end > size:
            return f"Its section {number} ends at byte {end} of {size}."
        if section.kind == _DYNAMIC and not any(library[section.offset : end]):
            return "Its dynamic section is empty."
    return None


def _missing(
    library: bytes, order: str, segments: list[_Segment], sections: list[_Section], symbol: str
) -> str | None:
    """Return what is wrong with a function that the library must export."""
    wanted = symbol.encode() + b"\0"
    for table in (section for section in sections if section.kind == _SYMBOLS):
        names = sections[table.link].offset if table.link < len(sections) else 0
        count = table.size // struct.calcsize(order + _SYMBOL)
        for name, _, _, section, address, length in _rows(
            library, order + _SYMBOL, table.offset, count
        ):
            if section and library.startswith(wanted, names + name):
                is_empty = not any(_code(library, segments, address, length))
                return f"Its function '{symbol}' has no code." if is_empty else None
    return f"It has no function '{symbol}'."


def _code(library: bytes, segments: list[_Segment], address: int, length: int) -> bytes:
    for segment in segments:
        if segment.kind == _LOADED and 0 <= address - segment.address < segment.size:
            start = segment.offset + address - segment.address
            return library[start : start + length]
    return b""


def _rows(library: bytes, layout: str, start: int, count: int) -> Iterator[tuple[int, ...]]:
    return struct.iter_unpack(layout, library[start : start + count * struct.calcsize(layout)])
