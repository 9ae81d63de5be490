"""Names of values for options: rows of one listing, and digests that outlast edits elsewhere.

`%12` is a row, and another value after an edit. `%:5d0f32b2c1a4` is the digest of an expression: of
the operation of a row and of the digests of its operands. A name that no value has decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ....runtime.process.sha256 import sha256
from ...ir.dataflow import Dataflow

DIGEST: Final = "%:"
_DIGITS: Final = 12


def rows_of(names: tuple[str, ...], program: Dataflow) -> tuple[str, ...]:
    """Return names of values with rows in place of digests; those that no value has are left out.

    >>> rows_of(("%3",), Dataflow("p", (), (), (), (), ()))
    ('%3',)
    """
    if not any(name.startswith(DIGEST) for name in names):
        return names
    rows = {digest: f"%{row}" for row, digest in reversed([*enumerate(_digests(program))])}
    found = (rows.get(name) if name.startswith(DIGEST) else name for name in names)
    return tuple(dict.fromkeys(name for name in found if name is not None))


def digests_of(names: Iterable[str], program: Dataflow) -> tuple[str, ...]:
    """Return names of values with digests in place of rows; those of no row are left out."""
    known = {f"%{row}": digest for row, digest in enumerate(_digests(program))}
    found = (name if name.startswith(DIGEST) else known.get(name) for name in names)
    return tuple(name for name in found if name is not None)


def _digests(program: Dataflow) -> list[str]:
    from ...lower.rewrite import with_operands  # names of rows need no digests

    found: list[str] = []
    for value in program.values:
        operands = [found[each] for each in value.operands]
        text = repr((with_operands(value, lambda _: 0), operands))
        found.append(DIGEST + sha256(text.encode())[:_DIGITS])
    return found
