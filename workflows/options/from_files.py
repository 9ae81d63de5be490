"""What a file may set: flags of compilers by an allow-list, words, numbers, and groups of them.

Every reader of a file that others may have written asks here: option files, tuned files, lock
files, capsules. In Python and in the environment all values are allowed. See docs/security.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from ...runtime.process import OptionError, classes
from ...stages import CpuTarget, Numbers
from ...stages.gpu_target import GpuTarget

FLAGS: Final = "flags"  # the option of compiling stages
_WORD: Final = re.compile(r"(?:[\w.%:+ ][\w.%:+, -]{0,199}|-\d{1,19})?", re.ASCII)
_MATHS: Final = (
    "fast-math", "finite-math-only", "associative-math", "reciprocal-math", "signed-zeros",
    "trapping-math", "math-errno", "rounding-math", "unsafe-math-optimizations",
    "cx-limited-range", "signaling-nans", "approx-func", "honor-nans", "honor-infinities",
)  # fmt: skip
_LOOPS: Final = (
    "unroll-loops", "unroll-all-loops", "peel-loops", "split-loops", "tree-vectorize", "vectorize",
    "tree-loop-vectorize", "tree-slp-vectorize", "slp-vectorize", "inline", "inline-functions",
    "strict-aliasing", "strict-overflow", "omit-frame-pointer", "prefetch-loop-arrays", "ivopts",
    "tree-loop-distribution", "loop-interchange", "gcse", "schedule-insns", "wrapv",
)  # fmt: skip
_ISA: Final = (
    "abm", "adx", "aes", "avx", "bmi", "bmi2", "cx16", "evex", "f16c", "fma", "fma4", "fpmath",
    "fsgsbase", "gfni", "lzcnt", "movbe", "outline-atomics", "pclmul", "popcnt", "prefer-vector",
    "prfchw", "recip", "sahf", "sha", "sse", "ssse3", "sve-vector-bits", "tbm", "vaes",
    "vpclmulqdq", "vzeroupper", "xop", "xsave",
)  # fmt: skip
_VALUE: Final = r"=[\w.,:+!-]+"
_FLAG: Final = re.compile(
    r"-O(?:[0-3gsz]|fast)?"
    r"|-g[0-3]?"
    rf"|-m(?:arch|tune|cpu){_VALUE}"
    rf"|-m(?:no-)?(?:{'|'.join(_ISA)})[\w.-]*(?:{_VALUE})?"
    rf"|-f(?:no-)?(?:{'|'.join((*_MATHS, *_LOOPS))})"
    r"|-f(?:fp-contract|fp-model|excess-precision|vect-cost-model|simd-cost-model)=[\w-]+"
    r"|--?(?:use_fast_math|extra-device-vectorization)"
    r"|--?(?:maxrregcount|fmad|ftz|prec-div|prec-sqrt)=\w+",
    re.ASCII,
)


def is_allowed_flag(flag: str) -> bool:
    """Tell whether a file may pass this flag to a compiler: it chooses speed, no file or program.

    >>> [is_allowed_flag(flag) for flag in ("-O2", "-march=znver4", "-mno-avx512f", "-fno-gcse")]
    [True, True, True, True]
    >>> [is_allowed_flag(flag) for flag in ("-wrapper", "-I/x", "@x", "-fplugin=x", "-mllvm")]
    [False, False, False, False, False]
    """
    return _FLAG.fullmatch(flag) is not None


def check_from_file(option: str, value: Any) -> None:
    """Refuse what a file may not set with an `OptionError`; `option` is as in 'compile.flags'.

    Functions pass: a file can only name those that its reader has found for it.
    """
    if option.rpartition(".")[2] == FLAGS:
        for flag in value if isinstance(value, list | tuple) else (value,):
            if not isinstance(flag, str) or not is_allowed_flag(flag):
                raise OptionError(
                    f"A file may set flags of optimisation and instruction sets only, got {flag!r}"
                    f" for option '{option}'.",
                    hints=("Set other flags in Python, or with FIELDFORGE_OPTIONS.",),
                )
    elif not _is_plain(value):
        raise OptionError(
            f"A file may set numbers and words only, got {str(value)[:60]!r} for option '{option}'."
        )


def check_stage(name: str, stage: Any) -> None:
    """Refuse a stage of a file's workflow with options that the file may not set."""
    for field in attrs.fields(type(stage)):
        if field.init and field.eq:  # the others are paths and tools, which text cannot set
            check_from_file(f"{name}.{field.name}", getattr(stage, field.name))


def _is_plain(value: Any) -> bool:
    match value:
        case list() | tuple():
            return all(map(_is_plain, value))
        case Mapping():
            return all(map(_is_plain, (*value, *value.values())))
        case Numbers():
            return _is_plain(value.given)
        case CpuTarget() | GpuTarget():  # of which some have names
            return all(map(_is_plain, classes.astuple(value)))
        case str():
            return _WORD.fullmatch(value) is not None
    return isinstance(value, bool | int | float | None) or (
        callable(value) and not isinstance(value, type)
    )
