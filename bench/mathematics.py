"""Errors and times of the functions of generated code: python bench/mathematics.py [name ...].

Errors are units in the last place, against libquadmath for float64 and the double functions of the
C library for float32, of which `--every 1` takes all. Times are nanoseconds a value of arrays
in the first cache, beside the functions for vectors of the C library (libmvec) and its scalar ones.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import math
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import numpy as np

from fieldforge.stages.codegen import mathematics
from fieldforge.stages.codegen.cpu.stage import FLAGS, VECTOR_MATH
from fieldforge.stages.codegen.rows.operations import DECLARATION, LIBRARY, TYPES, VECTORISED
from fieldforge.stages.target import Target

KERNEL: Final = Path(__file__).parent / "kernels" / "mathematics.cpp"
CHUNK: Final = 1 << 24
PAIRS: Final = 20  # for each argument of another kind
DTYPES: Final = {"f32": np.dtype("float32"), "f64": np.dtype("float64")}


@attrs.frozen
class Function:
    """A function of generated code, compiled for one target beside those that it stands in for."""

    name: str  # as in 'exp_f64'
    library: ctypes.CDLL

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its arguments and its result."""
        return DTYPES[self.name.rpartition("_")[2]]

    @property
    def operands(self) -> int:
        """How many arguments it has."""
        return 2 if self.name.startswith("pow") else 1

    def call(self, which: str, *arguments: np.ndarray) -> np.ndarray:
        """Return the values that 'own', 'vector' or 'libm' gives."""
        out = np.empty_like(arguments[0])
        pointers = [each.ctypes.data for each in (arguments[0], arguments[-1], out)]
        getattr(self.library, which)(*map(ctypes.c_void_p, pointers), ctypes.c_int64(out.size))
        return out

    def error(self, *arguments: np.ndarray, which: str = "own") -> tuple[float, tuple[Any, ...]]:
        """Return the largest error of all arguments, and which these are."""
        found = self.call(which, *arguments)
        worst = ctypes.c_int64(0)
        most = self.library.largest(
            *(ctypes.c_void_p(each.ctypes.data) for each in (arguments[0], arguments[-1], found)),
            ctypes.c_int64(found.size),
            ctypes.byref(worst),
        )
        return most, tuple(each[worst.value] for each in arguments)


def compiled(name: str, isa: str = "native", compiler: str = "c++") -> Function:
    """Compile a function with the flags of generated code."""
    target = Target.host(isa)
    with tempfile.TemporaryDirectory() as scratch:
        path, library = Path(scratch, f"{name}.cpp"), Path(scratch, f"{name}.so")
        path.write_text(_source(name))
        command = [compiler, *FLAGS, *target.flags, str(path), "-o", str(library)]
        subprocess.run([*command, *VECTOR_MATH, "-lquadmath", "-lm"], check=True)
        loaded = ctypes.CDLL(str(library))
    loaded.largest.restype = loaded.time_of.restype = ctypes.c_double
    return Function(name, loaded)


def _source(name: str) -> str:
    """Return the kernel with the function and those that it is held against."""
    op, _, real = name.rpartition("_")
    scalar, operands = LIBRARY.get(op, op), ["a", "b"] if op == "pow" else ["a"]
    single, double = scalar + "f" * (real == "f32"), real == "f64"
    vector = single if op in VECTORISED else f"__builtin_{single}"
    exact, wide = (f"{scalar}q", "__float128") if double else (scalar, "double")
    pair, converted = ", ".join(operands), ", ".join(f"WIDE({each})" for each in operands)
    lines = definitions(name)
    if op in VECTORISED:
        takes = ", ".join([real] * len(operands))
        lines += [DECLARATION, f'extern "C" {real} {vector}({takes}) noexcept;']
    if double:
        lines.append(f'extern "C" {wide} {exact}({", ".join([wide] * len(operands))});')
    lines += [
        f"#define REAL {real}",
        f"#define BITS u{real[1:]}",
        f"#define WIDE {wide}",
        f"#define OWN(a, b) {name}({pair})",
        f"#define LIBM(a, b) __builtin_{single}({pair})",
        f"#define VECTOR(a, b) {vector}({pair})",
        f"#define TRUE(a, b) {exact}({converted})",
        KERNEL.read_text(),
    ]
    return "\n".join(lines)


def definitions(name: str) -> list[str]:
    """Return the text of a function, of the functions that it calls, and of their types."""
    types = [f"typedef {meaning} {each};" for each, meaning in TYPES.values()]
    return [*types, *(text for _, text in mathematics.function(name))]


# --- arguments ----------------------------------------------------------------------------------


def drawn(function: Function, count: int, seed: int = 0) -> Iterator[tuple[np.ndarray, ...]]:
    """Draw arguments: random bits, numbers of usual sizes, and the neighbours of special ones.

    Of the pairs of special numbers for `pow`, `PAIRS * count` are drawn where there are more.
    """
    numbers = np.random.default_rng(seed)
    dtype = function.dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")

    def anything(size: int) -> np.ndarray:
        return numbers.integers(0, np.iinfo(unsigned).max, size, unsigned, endpoint=True).view(
            dtype
        )

    def usual(size: int) -> np.ndarray:
        spread = 2.0 ** numbers.uniform(-12, 10.5, size)
        return (spread * numbers.choice([-1.0, 1.0], size)).astype(dtype)

    def near_one(size: int) -> np.ndarray:
        return (1 + numbers.normal(size=size) * 2.0 ** numbers.uniform(-20, -1, size)).astype(dtype)

    edges = special(dtype)
    if function.operands == 1:
        yield (edges,)
        for draw in (anything, usual, near_one):
            yield (draw(count),)
        return
    some = np.concatenate([edges[::9], edges[-1:], special(dtype, every=100)])
    step = max(1, some.size**2 // (PAIRS * count))
    while math.gcd(step, some.size) > 1:
        step += 1  # so that every number is still a base and an exponent
    yield tuple(np.ascontiguousarray(each.ravel()[::step]) for each in np.meshgrid(some, some))
    for draw in (anything, usual, near_one):
        base = draw(count)
        with np.errstate(all="ignore"):
            size = np.log(np.abs(base.astype(np.float64)))
            most = np.log(float(np.finfo(dtype).max)) * 1.06
            reach = (numbers.uniform(-1, 1, count) * most / size).astype(dtype)
        yield base, draw(count)
        yield np.abs(base), reach
        yield base, np.rint(reach)


def special(dtype: np.dtype[Any], every: int = 1) -> np.ndarray:
    """Return zeros, infinities, NaN, the ends of each range, powers of two and their neighbours."""
    limits = np.finfo(dtype)
    powers = 2.0 ** np.arange(limits.minexp - limits.nmant, limits.maxexp, every)
    ends = [limits.max, limits.tiny, limits.smallest_subnormal, 3.0, 5.0, 10.0, 0.75, 1.5]
    ends += [88.72284, 88.72283, 103.97208, 103.27893, 87.33655, 89.0, 104.0]
    ends += [709.782712893384, 745.1332191019411, 708.3964185322641, 746.0, 710.0, 1e5, 1e10]
    ends += [710.4758600739439, 89.41599, 1.0, 2.0, 0.5, *np.arange(700.0, 750.0, 0.25)]
    ends += [n * np.pi / 4 for n in range(1, 20)] + [n * np.log(2) / 2 for n in range(1, 40)]
    with np.errstate(all="ignore"):
        sizes = np.array([0.0, np.inf, *ends, *powers]).astype(dtype)
        near = [np.nextafter(sizes, dtype.type(to)) for to in (0, np.inf)]
    sizes = np.unique(np.concatenate([sizes, *near]))
    return np.concatenate([sizes, -sizes, [np.nan]]).astype(dtype)


def every(step: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield one of each `step` numbers of float32."""
    for first in range(0, 1 << 32, CHUNK * step):
        last = min(first + CHUNK * step, 1 << 32)
        yield (np.arange(first, last, step, dtype=np.uint32).view(np.float32),)


# --- results ------------------------------------------------------------------------------------


def errors(
    function: Function, count: int, step: int = 0, which: str = "own"
) -> tuple[float, tuple[Any, ...]]:
    """Return the largest error of a function and its arguments.

    These are drawn; for a function of one float32 also every `step`th number, if that is not 0.
    """
    swept = step and function.operands == 1 and function.dtype.itemsize == 4
    sets = itertools.chain(drawn(function, count), every(step) if swept else ())
    return max((function.error(*each, which=which) for each in sets), key=lambda found: found[0])


def times(function: Function, rounds: int = 400, count: int = 1024) -> dict[str, float]:
    """Return nanoseconds a value: usual arguments, arrays in the first cache."""
    numbers = np.random.default_rng(1)
    arrays = [numbers.uniform(0.05, 0.95, count).astype(function.dtype) for _ in range(3)]
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in arrays]
    sizes = (ctypes.c_int64(count), ctypes.c_int64(rounds))
    library = function.library
    return {
        which: library.time_of(getattr(library, which), *pointers, *sizes)
        for which in ("own", "vector", "libm")
    }


def main() -> None:
    """Print a row of a table for each function."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("names", nargs="*", help="as in exp_f64; all if none is given")
    ask.add_argument("--count", type=int, default=1_000_000, help="arguments of each kind")
    ask.add_argument("--every", type=int, default=0, help="of so many float32 one; 1 takes all")
    ask.add_argument("--isa", default="native", help="as in x86-64-v3")
    ask.add_argument("--compiler", default="c++")
    asked = ask.parse_args()
    print("| function | largest error, ulp | at | ns | libmvec | libm |")
    print("| --- " * 6 + "|")
    for name in asked.names or mathematics.NAMES:
        function = compiled(name, asked.isa, asked.compiler)
        most, at = errors(function, asked.count, asked.every)
        taken = times(function)
        vector = taken["vector"] if name.rpartition("_")[0] in VECTORISED else np.nan
        place = ", ".join(float(each).hex() for each in at)
        print(
            f"| {name} | {most:.2f} | {place} | {taken['own']:.2f} | {vector:.2f} "
            f"| {taken['libm']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
