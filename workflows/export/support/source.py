"""The whole C++ that every exported library has; the wrappers of its programs call it."""

from __future__ import annotations

from typing import Final

from .aliasing import ALIASING
from .core import core
from .fields import FIELDS
from .tables import TABLES
from .threads import THREADS
from .workspace import WORKSPACE

_HEADERS: Final = r"""
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>
"""

_OPENING: Final = r"""
namespace {

constexpr int max_rank = FIELDFORGE_MAX_RANK;
"""

_CLOSING: Final = r"""
}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
"""


def support() -> str:
    """Return the C++ before the functions of a library."""
    headers, shared = core()
    parts = (_HEADERS, headers, _OPENING, shared, FIELDS, ALIASING, TABLES, THREADS, WORKSPACE)
    return "".join([*parts, _CLOSING])


FUNCTIONS: Final = """\
EXPORTED const char* {library}_message(void) {{ return last_message; }}
EXPORTED void {library}_set_threads(int32_t count) {{ set_threads(count); }}
EXPORTED void {library}_forget_tables(void) {{
  const std::lock_guard guard(looks_lock);
  looks.clear();
}}
"""
