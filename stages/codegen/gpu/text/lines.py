"""Lines of C++ that a GPU's kernels share: blocks in braces, arrays in shared memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def indented(lines: Iterable[str], by: str = "  ") -> Iterator[str]:
    """Indent lines."""
    return (by + line for line in lines)


def braced(head: str, *lines: Iterable[str]) -> Iterator[str]:
    """Write lines in braces after a head."""
    yield f"{head} {{" if head else "{"
    for each in lines:
        yield from indented(each)
    yield "}"


def either(test: str, then: Iterable[str], otherwise: Iterable[str]) -> Iterator[str]:
    """Write the lines for calls where a test holds, and for others."""
    yield from (f"if ({test}) {{", *indented(then), "} else {", *indented(otherwise), "}")


def shared_arrays(
    arrays: Iterable[tuple[str, str, str, int]], place: str = "u32({})"
) -> Iterator[str]:
    """Define arrays in shared memory one after the other: names, types, counts, sizes of items."""
    room = "0"
    for name, type_, count, size in arrays:
        yield f"const ff::shared_array<{type_}> {name}({place.format(room)}, {count});"
        room += f" + {count} * {size}"
