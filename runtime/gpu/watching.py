"""What the settings ask to be watched of programs on GPUs: failing kernels, ranges in profiles."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Final

from ..process import settings
from . import native
from .errors import GpuUnavailableError

_platforms: Final[set[str]] = set()
_searched: Final[list[str]] = []


def watch(platform: str) -> None:
    """Follow the settings from now on for programs of a platform.

    With `FIELDFORGE_GPU_SYNC` a call waits after each kernel, so that the error of a kernel names
    it and its program. With `FIELDFORGE_GPU_RANGES` each call of a program is a range of NVTX or
    rocTX, which profilers show; the null platform keeps a list, see `null.ranges`.
    """
    if platform in _platforms:
        return
    _platforms.add(platform)
    if len(_platforms) == 1:
        settings.on_change(_follow)
    _follow()


def _follow() -> None:
    wanted = settings.current()
    for platform in _platforms if wanted.gpu_debug or "order" in _searched else ():
        with suppress(GpuUnavailableError):  # it cannot run a program either, and a call says so
            native.log_edges(platform, "order" in wanted.gpu_debug)
    _searched[:] = wanted.gpu_debug
    native.wait_for_kernels(wanted.gpu_sync)
    found = [native.mark_ranges(each) for each in sorted(_platforms) if wanted.gpu_ranges]
    if not wanted.gpu_ranges:
        native.mark_ranges("")
    elif not any(found):
        warnings.warn(
            "FIELDFORGE_GPU_RANGES is set, but no profiler watches this process and no library of "
            "markers (libnvToolsExt, libroctx64) is installed: calls are not marked.",
            stacklevel=3,
        )
