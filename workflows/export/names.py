"""Names of leaves, functions and types in C and Fortran."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Final

from ...runtime.process.errors import OptionError

C_TYPES: Final = {
    "bool": "bool", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t",
    "float32": "float", "float64": "double",
}  # fmt: skip
FORTRAN_TYPES: Final = {
    "bool": "logical(c_bool)", "int8": "integer(c_int8_t)", "uint8": "integer(c_int8_t)",
    "int16": "integer(c_int16_t)", "uint16": "integer(c_int16_t)", "int32": "integer(c_int32_t)",
    "uint32": "integer(c_int32_t)", "int64": "integer(c_int64_t)", "uint64": "integer(c_int64_t)",
    "float32": "real(c_float)", "float64": "real(c_double)",
}  # fmt: skip
DTYPES: Final = tuple(C_TYPES)  # the number of a type is its place
_RESERVED: Final = frozenset(
    re.findall(
        r"\w+",
        "auto bool break case catch char class const continue default delete do double else enum "
        "explicit export extern float for friend goto if inline int long mutable namespace new "
        "operator private protected public register restrict return short signed sizeof static "
        "struct switch template this throw true false try typedef typename union unsigned using "
        "virtual void volatile while and or not xor bitand bitor compl",
    )
)
_LONGEST: Final = 63  # letters of a name in Fortran


def c_name(leaf: str) -> str:
    """Return the name of a leaf in C.

    >>> c_name("pair.0.1"), c_name("new")
    ('pair_0_1', 'new_')
    """
    name = leaf.replace(".", "_")
    return f"{name}_" if name in _RESERVED else name


def fortran_names(names: Iterable[str]) -> dict[str, str]:
    """Return names that stay different where case does not count.

    >>> fortran_names(["T", "t"])
    {'T': 'T', 't': 't_2'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = (f"f{name}" if name.startswith("_") else name)[: _LONGEST - 3]
        chosen, count = plain, 1
        while chosen.lower() in taken:
            count += 1
            chosen = f"{plain}_{count}"
        taken.add(chosen.lower())
        found[name] = chosen
    return found


def checked_library(name: str) -> str:
    """Return the name of a library; one that is no identifier is refused."""
    if not re.fullmatch(r"[A-Za-z]\w*", name) or keyword.iskeyword(name) or name in _RESERVED:
        raise OptionError(f"The name of a library is an identifier, got '{name}'.")
    return name
