"""Check the tools that builds and calls need, one line each: `fieldforge doctor`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from typing import Final, Literal

from ...cache.opening import open_store
from ...runtime.process import FieldforgeError, classes, current
from ...stages.compile.compiler import find_compiler
from ...stages.target import CpuTarget

State = Literal["ok", "absent", "wrong"]  # 'absent' only matters to those who need it
MARKS: Final = {"ok": "ok     ", "absent": "absent ", "wrong": "WRONG  "}


@classes.frozen
class Line:
    """The result of one check, and a remedy."""

    subject: str
    state: State
    found: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{MARKS[self.state]}{self.subject:<10} {self.found}" + (
            f" - {self.advice}" if self.advice else ""
        )


def lines() -> Iterator[Line]:
    """Run all checks, one line each; a check that raises an error is a line, too."""
    for look in LOOKS:
        try:
            yield look()
        except (FieldforgeError, OSError) as error:
            subject = look.__name__.removeprefix("_")
            hints = " ".join(getattr(error, "hints", ()))
            yield Line(subject, "wrong", str(getattr(error, "message", error)), hints)


def _versions() -> Line:
    names = (__name__.partition(".")[0], "numpy")
    found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return Line("versions", "ok", f"Python {platform.python_version()}, {found}")


def _compiler() -> Line:
    settings = current()
    path = dict(settings.compiler_variables).get("PATH")
    found = find_compiler(settings.cxx, path)
    return Line("compiler", "ok", found.identity.partition(";")[0])


def _processor() -> Line:
    target = CpuTarget.host()
    advice = "" if target.has_fma else "without FMA the C library computes exp, log and pow"
    return Line(
        "processor", "ok",
        f"{target.isa}, {target.cores} cores, L2 {target.l2 >> 10} KiB",
        advice,
    )  # fmt: skip


def _threads() -> Line:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0]
    busy = load > (allowed or 1)
    advice = "other programs use these cores: calls may wait, measure with care" if busy else ""
    return Line("threads", "ok", f"{allowed} processors, load {load:.1f}", advice)


def _cache() -> Line:
    settings = current()
    open_store(settings)
    folder = settings.cache_dir
    place = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(place).free
    if not os.access(place, os.W_OK):
        return Line("cache", "wrong", f"{place} is read-only", "set FIELDFORGE_CACHE_DIR")
    if free < 1 << 30:
        return Line("cache", "wrong", f"{free >> 20} MiB free in {place}", "free some space")
    return Line("cache", "ok", f"{folder}, {free >> 30} GiB free")


def _gpu() -> Line:
    from ...runtime import gpu

    chosen = gpu.platform()
    if chosen is None or not gpu.is_available(chosen):
        return Line("GPU", "absent", "no driver with a device", "programs run on the CPU")
    return Line("GPU", "ok", f"{chosen}, {gpu.device_count(chosen)} devices")


def _mpi() -> Line:
    if not _has("mpi4py"):
        return Line("MPI", "absent", "no mpi4py", "'precompile(comm=...)' needs the extra 'mpi'")
    return Line("MPI", "ok", f"mpi4py {importlib.metadata.version('mpi4py')}")


def _dace() -> Line:
    if not _has("dace"):
        return Line("DaCe", "absent", "no DaCe", "backend 'dace_cpu' needs the extra 'dace'")
    return Line("DaCe", "ok", f"DaCe {importlib.metadata.version('dace')}")


def _has(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


LOOKS: Final[tuple[Callable[[], Line], ...]] = (
    _versions, _compiler, _processor, _threads, _cache, _gpu, _mpi, _dace
)  # fmt: skip
