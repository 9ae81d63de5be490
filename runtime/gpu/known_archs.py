"""Which architectures a run-time compiler knows: older ones do not know newer GPUs."""

from __future__ import annotations

import ctypes
from typing import Any, Final

# The library that compiles for hiprtc has the list; it stands beside it.
_CODE_OBJECTS: Final = ("libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so")


def known_to_nvrtc(functions: Any) -> frozenset[str]:
    """Return names such as 'sm_90'; none if this NVRTC does not say."""
    count = ctypes.c_int()
    if functions.nvrtcGetNumSupportedArchs(ctypes.byref(count)) != 0:
        return frozenset()
    numbers = (ctypes.c_int * count.value)()
    if functions.nvrtcGetSupportedArchs(numbers) != 0:
        return frozenset()
    return frozenset(f"sm_{number}" for number in numbers)


def known_to_hiprtc() -> frozenset[str]:
    """Return names such as 'gfx90a'; none if the library that knows them is not found."""
    for name in _CODE_OBJECTS:
        try:
            functions = ctypes.CDLL(name)
        except OSError:
            continue
        return _names_of(functions)
    return frozenset()


def _names_of(functions: Any) -> frozenset[str]:
    count, name = ctypes.c_size_t(), ctypes.c_char_p()
    functions.amd_comgr_get_isa_count(ctypes.byref(count))
    found = set()
    for i in range(count.value):
        functions.amd_comgr_get_isa_name(ctypes.c_size_t(i), ctypes.byref(name))
        found.add((name.value or b"").decode().rpartition("--")[2])
    return frozenset(found)


def plain(arch: str) -> str:
    """Return an architecture without its features.

    >>> plain("sm_90a"), plain("gfx90a:xnack-")
    ('sm_90', 'gfx90a')
    """
    return arch.rstrip("af") if arch.startswith("sm_") else arch.partition(":")[0]
