"""Compile kernels in process: NVRTC for CUDA, hiprtc for HIP, the host's compiler for null.

Both libraries are opened at the first use: from the system, or from the wheels that have them.
Neither needs a GPU.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from ..process import classes
from .errors import KernelCompileError
from .native import current_device

Compiler = Literal["auto", "nvrtc", "hiprtc", "host"]
Output = Literal["cubin", "ptx"]
_OLDEST_CUDA: Final = 12


@classes.frozen
class _Library:
    """A run-time compiler: its functions and how they are called."""

    prefix: str  # nvrtc or hiprtc
    functions: Any
    path: str
    version: tuple[int, int]
    archs: frozenset[str] = frozenset()  # none if it does not say

    @property
    def label(self) -> str:
        """Name and version: NVRTC 12.9."""
        name = "NVRTC" if self.prefix == "nvrtc" else self.prefix
        return f"{name} {'.'.join(map(str, self.version))}"

    def check(self, arch: str) -> None:
        """Refuse an architecture that it does not know: some versions crash on one."""
        if not self.archs or _plain(arch) in self.archs:
            return
        newest = ", ".join(sorted(self.archs, key=lambda name: (len(name), name)))
        error = KernelCompileError(
            f"{self.label} does not know the architecture '{arch}'.", hints=[f"It knows {newest}."]
        )
        error.code, error.name, error.log = 5, "INVALID_OPTION", ""
        error.where, error.what = self.prefix + "CompileProgram", "kernels"
        raise error

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function by the name that both vendors use."""
        return int(getattr(self.functions, self.prefix + name)(*arguments))

    def message(self, code: int) -> str:
        """Return the library's name of an error."""
        read = getattr(self.functions, f"{self.prefix}GetErrorString")
        read.restype = ctypes.c_char_p
        return (read(code) or b"").decode()


def compile_kernels(
    source: str,
    *,
    arch: str | None = None,
    options: Sequence[str] = (),
    to: Output = "cubin",
    compiler: Compiler = "auto",
    name: str = "kernels",
) -> bytes:
    r"""Compile CUDA C++ to what `Module.load` takes.

    Args:
        source: kernels as `extern "C" __global__ void name(...)`. One text serves all platforms.
        arch: such as sm_90 or gfx90a, which needs no GPU; None means that of the current device.
        options: of the compiler, such as `--fmad=false`.
        to: cubin (for HIP a code object, for null a library), or ptx, which only CUDA has.
        compiler: nvrtc, hiprtc or host; auto decides by `arch`, or by the current device.
        name: the name of the source in messages.

    Raises:
        KernelCompileError: the source has an error; `log` is what the compiler says.
        GpuError: the compiler is not installed.

    >>> blob = compile_kernels('extern "C" __global__ void nothing() {}', compiler="host")
    >>> blob[:4]
    b'\x7fELF'

    """
    if compiler == "auto":
        arch = current_device().arch if arch is None else arch
        compiler = _compiler_of(arch)
    if compiler == "host":
        from .host_kernels import compile_for_host  # which needs subprocess

        return compile_for_host(source, options)
    if arch is None:
        arch = current_device().arch
    library = nvrtc() if compiler == "nvrtc" else hiprtc()
    library.check(arch)
    if compiler == "hiprtc":
        flags = [f"--offload-arch={arch}", *options]
    else:
        plain = arch.replace("sm_", "compute_") if to == "ptx" else arch
        flags = [f"--gpu-architecture={plain}", *options]
    return _compile(library, source, flags, "PTX" if to == "ptx" else None, name)[0]


def compile_with_log(
    source: str, arch: str, options: Sequence[str], name: str = "kernels"
) -> tuple[bytes, str]:
    """Return a cubin or code object for `arch`, and what the compiler said."""
    library = runtime_compiler(arch)
    library.check(arch)
    flag = "--offload-arch" if library.prefix == "hiprtc" else "--gpu-architecture"
    return _compile(library, source, [f"{flag}={arch}", *options], None, name)


def runtime_compiler(arch: str) -> _Library:
    """Open the compiler for an architecture; a `KernelCompileError` says how to install it."""
    return hiprtc() if _compiler_of(arch) == "hiprtc" else nvrtc()


def _compiler_of(arch: str) -> Compiler:
    if arch == "host":
        return "host"
    return "hiprtc" if arch.startswith("gfx") else "nvrtc"


def _compile(
    library: _Library, source: str, flags: Sequence[str], kind: str | None, name: str
) -> tuple[bytes, str]:
    program = ctypes.c_void_p()
    encoded = [flag.encode() for flag in flags]
    code = library.call(
        "CreateProgram", ctypes.byref(program), source.encode(), name.encode(), 0, None, None
    )
    if code != 0:
        raise _failed(library, code, "CreateProgram", "")
    try:
        array = (ctypes.c_char_p * len(encoded))(*encoded)
        code = library.call("CompileProgram", program, len(encoded), array)
        log = _read(library, program, "GetProgramLogSize", "GetProgramLog").rstrip(b"\0").decode()
        if code != 0:
            raise _failed(library, code, "CompileProgram", log)
        part = kind or ("CUBIN" if library.prefix == "nvrtc" else "Code")
        found = _read(library, program, f"Get{part}Size", f"Get{part}")
        if not found:
            raise _failed(library, 0, f"Get{part}", "The compiler made nothing for this target.")
        return found, log
    finally:
        library.call("DestroyProgram", ctypes.byref(program))


def _read(library: _Library, program: ctypes.c_void_p, size_name: str, name: str) -> bytes:
    size = ctypes.c_size_t()
    code = library.call(size_name, program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    code = code or library.call(name, program, text)
    return text.raw if code == 0 else b""


def _failed(library: _Library, code: int, call: str, log: str) -> KernelCompileError:
    first = next((line for line in log.splitlines() if "error" in line.lower()), "")
    reason = first or library.message(code)
    error = KernelCompileError(f"The kernels do not compile: {reason.strip()}.")
    error.code, error.name, error.log = code, library.message(code), log
    error.where, error.what = library.prefix + call, "kernels"
    return error


@functools.cache
def nvrtc() -> _Library:
    """Open NVRTC: that of the system, else that of the wheel `nvidia-cuda-nvrtc`."""
    names = [f"libnvrtc.so.{major}" for major in (13, _OLDEST_CUDA)]
    wheels = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")
    return _open(
        "nvrtc",
        [*_in_wheels(wheels, names), *names],
        "NVRTC was not found: install the wheel 'nvidia-cuda-nvrtc' (CUDA 13) or "
        "'nvidia-cuda-nvrtc-cu12', or the CUDA toolkit.",
        "Install it with: pip install 'fieldforge[gpu]'.",
    )


@functools.cache
def hiprtc() -> _Library:
    """Open hiprtc; before ROCm 5.5 it is a part of libamdhip64."""
    names = [f"libhiprtc.so.{major}" for major in (7, 6, 5)] + ["libhiprtc.so"]
    names += [f"libamdhip64.so.{major}" for major in (7, 6, 5)] + ["libamdhip64.so"]
    return _open(
        "hiprtc",
        names,
        "hiprtc was not found: install ROCm 5.2 or later.",
        "ROCm comes from AMD's packages for the system: no wheel contains it.",
    )


def _in_wheels(folders: Sequence[str], names: Sequence[str]) -> list[str]:
    places = (
        Path(place, folder, name) for place in sys.path for folder in folders for name in names
    )
    return [str(path) for path in places if path.is_file()]


def _open(prefix: str, candidates: Sequence[str], missing: str, hint: str) -> _Library:
    for path in candidates:
        try:
            functions = ctypes.CDLL(path)
            getattr(functions, f"{prefix}CreateProgram")
        except (OSError, AttributeError):
            continue
        major, minor = ctypes.c_int(), ctypes.c_int()
        getattr(functions, f"{prefix}Version")(ctypes.byref(major), ctypes.byref(minor))
        archs = _known_to_nvrtc(functions) if prefix == "nvrtc" else _known_to_hiprtc()
        return _Library(prefix, functions, path, (major.value, minor.value), archs)
    error = KernelCompileError(missing, hint=hint)
    error.code, error.name, error.where, error.what = -1, "UNAVAILABLE", prefix, "kernels"
    error.log = ""
    raise error


# The library that compiles for hiprtc has the list; it stands beside it.
_CODE_OBJECTS: Final = ("libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so")


def _known_to_nvrtc(functions: Any) -> frozenset[str]:
    """Return names such as 'sm_90'; none if this NVRTC does not say."""
    count = ctypes.c_int()
    if functions.nvrtcGetNumSupportedArchs(ctypes.byref(count)) != 0:
        return frozenset()
    numbers = (ctypes.c_int * count.value)()
    if functions.nvrtcGetSupportedArchs(numbers) != 0:
        return frozenset()
    return frozenset(f"sm_{number}" for number in numbers)


def _known_to_hiprtc() -> frozenset[str]:
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


def _plain(arch: str) -> str:
    """Return an architecture without its features.

    >>> _plain("sm_90a"), _plain("gfx90a:xnack-")
    ('sm_90', 'gfx90a')
    """
    return arch.rstrip("af") if arch.startswith("sm_") else arch.partition(":")[0]
