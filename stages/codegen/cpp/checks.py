"""Checked programs: tell the first store of a number that is not finite.

Whether a number is finite is read from its bits, so that no flag of a compiler takes the test
away. The bits of a row are gathered with `|` and looked at behind its innermost loop, which is
vectorised as it is without checks. The smallest number of a store is kept, so that threads change
nothing, and the entry returns one more than the place of its field among the fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...ir.loops import Constant, Kernel, Nest, Store
from .names import Names
from .operations import TYPES, literal

# The bits of the exponent, all set in what is not finite, and the lowest of them: only the sum of
# both has the highest bit, which is how many bits from the lowest.
_BITS: Final = {
    "float32": ("u32", "0x7f800000u", "0x00800000u", 31),
    "float64": ("u64", "0x7ff0000000000000u", "0x0010000000000000u", 63),
}
_NOTE: Final = """\
static inline void note(s32* first, s32 store) {
  s32 known = __atomic_load_n(first, __ATOMIC_RELAXED);
  while (store < known && !__atomic_compare_exchange_n(first, &known, store, true, 0, 0)) {}
}"""


def tested_stores(kernel: Kernel) -> dict[tuple[int, str], int]:
    """Number the stores of floats to fields, by group of stores and field, as they follow."""
    floats = {b.name for b in kernel.buffers if b.memory == "field" and b.dtype in _BITS}
    stores = (
        (nest.statement, row.buffer)
        for nest in kernel.nests
        for row in nest.body
        if isinstance(row, Store) and row.buffer in floats
    )
    return {store: number for number, store in enumerate(dict.fromkeys(stores))}


def functions(names: Names) -> Iterator[str]:
    """Write the functions that tests call."""
    dtypes = {names.by_name[buffer].dtype for _, buffer in names.tests}
    for dtype in sorted(dtypes):
        bits, exponent, lowest, _ = _BITS[dtype]
        real = TYPES[dtype][0]
        yield f"static inline {bits} exponent_{real}({real} a) {{"
        yield f"  {bits} b;"
        yield "  __builtin_memcpy(&b, &a, sizeof b);"
        yield f"  return (b & {exponent}) + {lowest};"
        yield "}"
    if names.tests:
        yield _NOTE


def head(names: Names) -> Iterator[str]:
    """Define what the nests share; a compiler that takes NaN for impossible sees none."""
    if names.tests:
        yield f"  s32 first = {len(names.tests)};"
    rows = (row for nest in names.kernel.nests for row in nest.body)
    dtypes = {r.dtype for r in rows if isinstance(r, Constant) and is_nothing(r.text, r.dtype)}
    for dtype in sorted(dtypes) if names.options.checked else ():
        real, (bits, exponent, lowest, _) = TYPES[dtype][0], _BITS[dtype]
        yield f"  {bits} bits_{real} = {exponent} | ({lowest} >> 1);"
        yield f'  asm("" : "+r"(bits_{real}));'
        yield f"  {real} nothing_{real};"
        yield f"  __builtin_memcpy(&nothing_{real}, &bits_{real}, sizeof bits_{real});"


def status(names: Names) -> str:
    """Return what the entry returns."""
    if not names.tests:
        return "0"
    fields = [names.buffers[buffer][1:] for _, buffer in names.tests]
    places = ", ".join(str(int(field) + 1) for field in fields)
    return f"((const s32[]){{{places}, 0}})[first]"


def is_nothing(text: str, dtype: str) -> bool:
    """Tell whether a constant is NaN, which stands for a neighbour that is missing."""
    return dtype in _BITS and literal(text, dtype).startswith("__builtin_nan")


class Tests:
    """The tests of what one nest stores."""

    def __init__(self, names: Names, nest: Nest) -> None:
        stored = {row.buffer: row.dtype for row in nest.body if isinstance(row, Store)}
        self.stores = [
            (names.tests[nest.statement, buffer], dtype)
            for buffer, dtype in stored.items()
            if (nest.statement, buffer) in names.tests
        ]

    def begin(self, indent: str) -> Iterator[str]:
        """Define where bits are gathered."""
        for number, dtype in self.stores:
            yield f"{indent}{_BITS[dtype][0]} e{number} = 0;"

    @property
    def clause(self) -> str:
        """What loops that are shared among lanes or threads say of it."""
        names = ", ".join(f"e{number}" for number, _ in self.stores)
        return f" reduction(|:{names})" if names else ""

    def end(self, indent: str) -> Iterator[str]:
        """Look at what was gathered."""
        for number, dtype in self.stores:
            yield f"{indent}if (e{number} >> {_BITS[dtype][3]}) note(&first, {number});"


def tested(number: int, dtype: str, value: str) -> str:
    """Return the statement that gathers the bits of a number."""
    return f"e{number} |= exponent_{TYPES[dtype][0]}({value});"
