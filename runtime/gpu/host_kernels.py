"""Kernels of CUDA C++ as C++ of the host, so that the null platform can run them.

Each thread of the grid runs in turn. Where threads of a block wait for each other, `host_block`
resumes them in turn at each barrier.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..process import settings
from .errors import KernelCompileError
from .host_block import FIBRES
from .host_grid import EACH_THREAD
from .host_shared import SHARED

_KERNEL: Final = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\('
)
_DYNAMIC: Final = re.compile(r"\bextern\s+__shared__")
_WAITS: Final = re.compile(r"\b(ff::|__sync|__shared__|__shfl)")
_COMPILERS: Final = ("c++", "g++", "clang++")
_PRELUDE: Final = """\
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
using namespace std;
struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __constant__ static
static thread_local const int warpSize = 32;
template <typename T> static T atomicAdd(T* to, T value) { T old = *to; *to += value; return old; }
template <typename T> static T __ldg(const T* from) { return *from; }
"""
# The names of CUDA for what threads do together. Arrays declared '__shared__' have no shadow.
_TOGETHER: Final = """\
#define __shared__ static thread_local
static inline void __syncthreads(int line = __builtin_LINE()) { ff::barrier(line); }
static inline void __syncwarp(unsigned = 0, int line = __builtin_LINE()) { ff::warp_barrier(line); }
"""
_RUN: Final = """\
template <typename... A, size_t... I>
static void run_grid(void (*kernel)(A...), const unsigned* grid, const unsigned* block,
                     unsigned shared, void** args, index_sequence<I...>) {
    ff_host::each_thread(grid, block, shared,
                         [&] { kernel(*static_cast<remove_reference_t<A>*>(args[I])...); });
}
template <typename... A>
static void run_kernel(void (*kernel)(A...), const unsigned* grid, const unsigned* block,
                       unsigned shared, void** args) {
    run_grid(kernel, grid, block, shared, args, index_sequence_for<A...>{});
}
#line 1 "kernel"
"""
_ENTRY: Final = """
extern "C" void {name}(const unsigned* grid, const unsigned* block, unsigned shared,
                       void** args) {{
    run_kernel(&{name}_of_one_thread, grid, block, shared, args);
}}
"""


def compile_for_host(source: str, options: Sequence[str] = ()) -> bytes:
    """Return a shared library that the null platform loads, with a function for each kernel."""
    if _DYNAMIC.search(source):
        raise _failed("On the null platform, write 'ff::shared_array' for 'extern __shared__'.")
    names = _KERNEL.findall(source)
    if not names:
        raise _failed("The source has no kernel: expected 'extern \"C\" __global__ void name('.")
    body = _KERNEL.sub(r"static void \1_of_one_thread(", source)
    entries = "".join(_ENTRY.format(name=name) for name in names)
    threads = FIBRES + SHARED + _TOGETHER if _WAITS.search(source) else EACH_THREAD
    text = _PRELUDE + threads + _RUN + body + entries
    with tempfile.TemporaryDirectory(prefix="fieldforge-kernel-") as folder:
        source_file, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
        source_file.write_text(text)
        flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-w", *options]
        _run([*flags, str(source_file), "-o", str(library)])
        return library.read_bytes()


def _run(arguments: Sequence[str]) -> None:
    chosen = settings.current().cxx
    for compiler in (chosen,) if chosen else _COMPILERS:
        try:
            done = subprocess.run(
                [compiler, *arguments], capture_output=True, text=True, check=False
            )
        except OSError:
            continue
        if done.returncode != 0:
            raise _failed("The kernel does not compile for the host.", done.stderr)
        return
    raise _failed(f"There is no C++ compiler: looked for {', '.join(_COMPILERS)}.")


def _failed(message: str, log: str = "") -> KernelCompileError:
    last = os.linesep.join(log.splitlines()[:20])
    error = KernelCompileError(message, hints=[last] if last else [])
    error.code, error.name, error.where, error.what, error.log = 1, "COMPILE", "c++", "kernel", log
    return error
