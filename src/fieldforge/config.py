"""The configuration under gt4py's names; values live in the settings of the process.

A value set here applies from the next build on. The environment is read as `FIELDFORGE_...`.

>>> from fieldforge import config
>>> config.BUILD_JOBS = 3
>>> from fieldforge.runtime.process.settings import current
>>> current().jobs
3
>>> del config.BUILD_JOBS  # undoes the assignment
"""

from __future__ import annotations

import enum
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from .forwarding import Elsewhere, ForwardingModule
from .runtime.process import OptionError
from .runtime.process.settings import METRICS_FILE, METRICS_LEVELS, current, set_current


class BuildCacheLifetime(enum.Enum):
    """The lifetime of built programs; fieldforge always keeps them."""

    SESSION = 1
    PERSISTENT = 2


class BuildJobsMode(enum.StrEnum):
    """The place of builds; fieldforge builds in threads, with compilers in child processes."""

    SERIAL = "serial"
    THREAD = "thread"
    PROCESS = "process"


class CMakeBuildType(enum.StrEnum):
    """Kinds of builds of CMake, which fieldforge does not use."""

    DEBUG = "Debug"
    RELEASE = "Release"
    REL_WITH_DEB_INFO = "RelWithDebInfo"
    MIN_SIZE_REL = "MinSizeRel"


def _setting(name: str, convert: Callable[[Any], Any]) -> Elsewhere:
    def write(value: Any) -> None:
        set_current(attrs.evolve(current(), **{name: convert(value)}))

    return Elsewhere(lambda: getattr(current(), name), write)


def _fixed(name: str, value: Any) -> Elsewhere:
    """Return an attribute without effect; setting it to another value warns."""

    def write(given: Any) -> None:
        if given != value:
            warnings.warn(
                f"'config.{name}' has no effect in fieldforge; it stays {value!r}.", stacklevel=3
            )

    return Elsewhere(lambda: value, write)


def _level(value: Any) -> int:
    if value not in METRICS_LEVELS:
        listed = ", ".join(map(str, METRICS_LEVELS))
        raise OptionError(f"The level of metrics must be one of {listed}, got '{value!r}'.")
    return int(value)


def _metrics_file(value: Any) -> Path | None:
    """Read a flag, or the name of a file."""
    if isinstance(value, str | Path) and str(value):
        return Path(value)
    return Path(METRICS_FILE) if value else None


_WITHOUT_EFFECT = {
    "ADD_GPU_TRACE_MARKERS": False,
    "BUILD_CACHE_LIFETIME": BuildCacheLifetime.PERSISTENT,
    "BUILD_CACHE_VERSION_ID": "",  # keys identify results by their inputs
    "BUILD_JOBS_MODE": BuildJobsMode.THREAD,
    "CMAKE_BUILD_TYPE": CMakeBuildType.RELEASE,
    "DEBUG": False,
    "SKIP_DACE_WARNINGS": True,
    "UNSTRUCTURED_HORIZONTAL_HAS_UNIT_STRIDE": False,
}

FORWARDED: dict[str, Elsewhere] = {
    "BUILD_CACHE_DIR": _setting("cache_dir", Path),
    "BUILD_JOBS": _setting("jobs", int),
    "COLLECT_METRICS_LEVEL": _setting("collect_metrics", _level),
    "DUMP_METRICS_AT_EXIT": _setting("dump_metrics", _metrics_file),
    "ENABLE_JIT_DEFAULT": _setting("enable_jit", bool),
    "VERBOSE_EXCEPTIONS": _setting("verbose_exceptions", bool),
    **{name: _fixed(name, value) for name, value in _WITHOUT_EFFECT.items()},
}

sys.modules[__name__].__class__ = ForwardingModule
