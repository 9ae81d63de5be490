"""The whole C++ that every exported library has; the wrappers of its programs call it."""

from __future__ import annotations

from typing import Final

from .aliasing import ALIASING
from .fields import FIELDS
from .tables import TABLES
from .threads import THREADS
from .workspace import WORKSPACE

_OPENING: Final = r"""
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace {

constexpr int max_rank = FIELDFORGE_MAX_RANK;
"""

_CLOSING: Final = r"""
}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
"""

SUPPORT: Final = "".join([_OPENING, FIELDS, ALIASING, TABLES, THREADS, WORKSPACE, _CLOSING])

FUNCTIONS: Final = """\
EXPORTED const char* {library}_message(void) {{ return last_message; }}
EXPORTED void {library}_set_threads(int32_t count) {{ set_threads(count); }}
EXPORTED void {library}_forget_tables(void) {{
  const std::lock_guard guard(looks_lock);
  looks.clear();
}}
"""
