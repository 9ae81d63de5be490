"""Checked programs: report the first store of a number that is not finite.

The test looks at the bits of a number, so that no compiler flag removes it. The innermost loop
gathers the bits of a row with `|`, which vectorises as the loop without checks does; the test
follows the loop. The entry keeps the smallest number of a failing store, so that the result does
not depend on threads, and returns one more than the place of its field among the fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ....runtime.calls.plan import StatusKind
from ....runtime.process import classes
from ...ir.loops import Constant, Instruction, Kernel, Store, bodies
from ..soft_reads import Clamping
from .expressions import TYPES, is_nothing
from .scope import Scope

# Type, bits of the exponent, its lowest bit, place of the sign bit. Only if all exponent bits are
# set (a number that is not finite) does adding the lowest bit carry into the sign bit.
_BITS: Final = {
    "float32": ("u32", "0x7f800000u", "0x00800000u", 31),
    "float64": ("u64", "0x7ff0000000000000u", "0x0010000000000000u", 63),
}
FOUND: Final = ("s32* ", "found")  # type and name of the pointer to the smallest number
NOTE: Final = """\
static inline void note(s32* first, s32 store) {
  s32 known = __atomic_load_n(first, __ATOMIC_RELAXED);
  while (store < known && !__atomic_compare_exchange_n(first, &known, store, true, 0, 0)) {}
}"""


def tested_stores(kernel: Kernel) -> dict[tuple[int, str], int]:
    """Number the stores of floats to fields, by group of stores and field, in their order."""
    floats = {b.name for b in kernel.buffers if b.memory == "field" and b.dtype in _BITS}
    stores = (
        (group, row.buffer)
        for group, rows in bodies(kernel)
        for row in rows
        if isinstance(row, Store) and row.buffer in floats
    )
    return {store: number for number, store in enumerate(dict.fromkeys(stores))}


def functions(scope: Scope) -> Iterator[str]:
    """Write the functions that the tests call."""
    for dtype in sorted({scope.by_name[buffer].dtype for _, buffer in scope.tests}):
        bits, exponent, lowest, _ = _BITS[dtype]
        real = TYPES[dtype][0]
        yield from (
            f"static inline {bits} exponent_{real}({real} a) {{",
            f"  {bits} b;",
            "  __builtin_memcpy(&b, &a, sizeof b);",
            f"  return (b & {exponent}) + {lowest};",
            "}",
        )
    if scope.tests:
        yield NOTE


def head(scope: Scope) -> Iterator[tuple[str, str]]:
    """Define the variables that nests share; the compiler cannot see that the bits are NaN.

    Each line comes with the name that it defines, the lines of NaN without one: they belong
    together.
    """
    if scope.tests:
        yield from (
            ("first", f"  s32 first = {len(scope.tests)};"),
            ("found", "  s32* const found = &first;"),
        )
    for dtype in missing_values(scope.kernel) if scope.options.checked else ():
        real, (bits, exponent, lowest, _) = TYPES[dtype][0], _BITS[dtype]
        yield from (
            ("", f"  {bits} bits_{real} = {exponent} | ({lowest} >> 1);"),
            ("", f'  asm("" : "+r"(bits_{real}));'),
            ("", f"  {real} nothing_{real};"),
            ("", f"  __builtin_memcpy(&nothing_{real}, &bits_{real}, sizeof bits_{real});"),
        )


def missing_values(kernel: Kernel) -> list[str]:
    """Return the dtypes of the constants that stand for a missing neighbour."""
    rows = (row for _, rows in bodies(kernel) for row in rows if isinstance(row, Constant))
    return sorted({row.dtype for row in rows if is_nothing(row.text, row.dtype)})


def status(scope: Scope) -> str:
    """Return the expression that the entry returns."""
    if not scope.tests:
        return "0"
    places = ", ".join(map(str, codes(scope.kernel)))
    return f"((const s32[]){{{places}, 0}})[first]"


def codes(kernel: Kernel) -> tuple[int, ...]:
    """Return the code that the entry returns for each tested store."""
    fields = [buffer.name for buffer in kernel.buffers if buffer.memory == "field"]
    return tuple(fields.index(field) + 1 for _, field in tested_stores(kernel))


def statuses(
    kernel: Kernel, clamping: Clamping | None = None
) -> tuple[tuple[int, StatusKind, str], ...]:
    """Return the codes that the entry can return, each with its field."""
    fields = (field for _, field in tested_stores(kernel))
    found: list[tuple[int, StatusKind, str]] = [
        (code, "not_finite", field)
        for code, field in dict.fromkeys(zip(codes(kernel), fields, strict=True))
    ]
    if clamping is not None:
        found.append((beyond(kernel), "beyond", min(clamping.ends)))
    return tuple(found)


def beyond(kernel: Kernel) -> int:
    """Return the code of a call that reads beyond a field where `where` may hide it."""
    return 1 + sum(buffer.memory == "field" for buffer in kernel.buffers)


@classes.frozen
class Tests:
    """The tests of the stores of one nest: number and dtype of each."""

    stores: tuple[tuple[int, str], ...]

    def begin(self, indent: str) -> Iterator[str]:
        """Define the variables that gather bits."""
        yield from (f"{indent}{_BITS[dtype][0]} e{n} = 0;" for n, dtype in self.stores)

    @property
    def clause(self) -> str:
        """Return the OpenMP clause of the gathering for loops that lanes share."""
        names = ", ".join(f"e{number}" for number, _ in self.stores)
        return f" reduction(|:{names})" if names else ""

    def end(self, indent: str, first: str = "found") -> Iterator[str]:
        """Test the gathered bits; `first` is the pointer to the smallest number."""
        yield from (
            f"{indent}if (e{number} >> {_BITS[dtype][3]}) note({first}, {number});"
            for number, dtype in self.stores
        )


def tests_of(scope: Scope, group: int, rows: Iterable[Instruction]) -> Tests:
    """Return the tests of the stores among rows."""
    stored = {(group, row.buffer): row.dtype for row in rows if isinstance(row, Store)}
    found = ((scope.tests[key], dtype) for key, dtype in stored.items() if key in scope.tests)
    return Tests(tuple(found))


def noted(number: int, dtype: str, value: str, first: str) -> str:
    """Return the statement that tests one number; `first` is as above."""
    return f"if (exponent_{TYPES[dtype][0]}({value}) >> {_BITS[dtype][3]}) note({first}, {number});"


def tested(number: int, dtype: str, value: str) -> str:
    """Return the statement that gathers the bits of a number."""
    return f"e{number} |= exponent_{TYPES[dtype][0]}({value});"
