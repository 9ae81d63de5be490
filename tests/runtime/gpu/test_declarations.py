"""Our declarations of the drivers' entries, compiled against the vendors' headers."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[3] / "runtime" / "native" / "gpu"

# Handles and enumerations are compared as what they are passed as.
NORMAL = """
#include <cstddef>
#include <cstdint>
#include <type_traits>
template <typename T> auto normal() {
    if constexpr (std::is_enum_v<T>) return int{};
    else if constexpr (std::is_same_v<T, char*> || std::is_same_v<T, const char*> ||
                       std::is_same_v<T, const char**> || std::is_same_v<T, void**> ||
                       std::is_same_v<T, int*> || std::is_same_v<T, size_t*> ||
                       std::is_same_v<T, float*>) return T{};
    else if constexpr (std::is_pointer_v<T>) {
        using P = std::remove_const_t<std::remove_pointer_t<T>>;
        if constexpr (std::is_pointer_v<P>) return (void**)nullptr;
        else if constexpr (std::is_enum_v<P>) return (int*)nullptr;
        else if constexpr (std::is_same_v<P, ADDRESS>) return (uintptr_t*)nullptr;
        else return (void*)nullptr;
    }
    else if constexpr (std::is_same_v<T, ADDRESS>) return uintptr_t{};
    else return T{};
}
template <typename F> struct Shape;
template <typename R, typename... A> struct Shape<R(A...)> {
    using type = void(decltype(normal<A>())...);
};
template <typename R, typename... A> struct Shape<R (*)(A...)> : Shape<R(A...)> {};
template <typename R, typename... A> struct Shape<R (*)(A...) noexcept> : Shape<R(A...)> {};
template <typename A, typename B> constexpr bool same =
    std::is_same_v<typename Shape<A>::type, typename Shape<B>::type>;
"""
CUDA = """
#include <cuda.h>
#define ADDRESS CUdeviceptr
%(normal)s
#define FIELDFORGE_CUDA(member, name, version, arguments) \\
    static_assert(same<decltype(&name), int (*) arguments>, #name);
#define FIELDFORGE_CUDA_OTHER FIELDFORGE_CUDA
#include "cuda_entries.inc"
#define FIELDFORGE_ATTRIBUTE(name, cuda, number, hip, hip_number) \\
    static_assert(CU_DEVICE_ATTRIBUTE_##cuda == number, #cuda);
#include "attributes.inc"
#include "driver.h"
namespace g = fieldforge::gpu;
static_assert(sizeof(g::PoolProperties) == sizeof(CUmemPoolProps));
static_assert(offsetof(g::PoolProperties, location) == offsetof(CUmemPoolProps, location));
static_assert(sizeof(g::PoolAccess) == sizeof(CUmemAccessDesc));
static_assert(sizeof(g::KernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
static_assert(offsetof(g::KernelNode, params) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams));
static_assert(g::not_ready == CUDA_ERROR_NOT_READY && g::out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(g::not_supported == CUDA_ERROR_NOT_SUPPORTED && g::no_device == CUDA_ERROR_NO_DEVICE);
static_assert(g::capture_unsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
static_assert(g::capture_unjoined == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
static_assert(g::peer_already_enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(g::stream_nonblocking == CU_STREAM_NON_BLOCKING);
static_assert(g::event_untimed == CU_EVENT_DISABLE_TIMING);
static_assert(g::event_blocking == CU_EVENT_BLOCKING_SYNC);
static_assert(g::capture_thread_local == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(g::pool_threshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
static_assert(g::pool_reserved == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
static_assert(g::pool_used == CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
"""
OVERLOADED = ("hipMallocAsync", "hipMallocFromPoolAsync")
HIP_CHECK = """
#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <cstddef>
#include <cstdint>
#include <hip/hip_runtime_api.h>
#define ADDRESS uintptr_t
%(normal)s
// Overloads in C++ are told apart by the number of their arguments.
template <typename F> struct Sizes;
template <typename... A> struct Sizes<int (*)(A...)> {
    template <typename R, typename... B> requires(sizeof...(A) == sizeof...(B))
    static constexpr bool of(R (*)(B...)) {
        return (... && (sizeof(A) == sizeof(B) &&
                        (std::is_pointer_v<A> == std::is_pointer_v<B>)));
    }
};
#define FIELDFORGE_HIP(member, name, arguments) \\
    static_assert(Sizes<int (*) arguments>::of(&name), #name);
#define FIELDFORGE_HIP_OTHER FIELDFORGE_HIP
%(entries)s
#define FIELDFORGE_ATTRIBUTE(name, cuda, number, hip, hip_number) \\
    static_assert(hipDeviceAttribute##hip == hip_number, #hip);
#include "attributes.inc"
#include "driver.h"
namespace g = fieldforge::gpu;
auto* async = static_cast<hipError_t (*)(void**, size_t, hipStream_t)>(&hipMallocAsync);
using FromPool = hipError_t (*)(void**, size_t, hipMemPool_t, hipStream_t);
auto* pool = static_cast<FromPool>(&hipMallocFromPoolAsync);
static_assert(sizeof(g::PoolProperties) == sizeof(hipMemPoolProps));
static_assert(sizeof(g::PoolAccess) == sizeof(hipMemAccessDesc));
static_assert(g::not_ready == hipErrorNotReady && g::out_of_memory == hipErrorOutOfMemory);
static_assert(g::not_supported == hipErrorNotSupported && g::no_device == hipErrorNoDevice);
static_assert(g::pool_threshold == hipMemPoolAttrReleaseThreshold);
static_assert(g::event_untimed == hipEventDisableTiming);
static_assert(g::stream_nonblocking == hipStreamNonBlocking);
"""


def compiles(tmp_path, source, *flags):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    file = tmp_path / "declarations.cpp"
    file.write_text(source)
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{NATIVE}", *flags, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def header(*places):
    found = next((place for place in map(Path, places) if place.exists()), None)
    if found is None:
        pytest.skip(f"the vendor's header is not installed: looked for {', '.join(places)}")
    return found


def test_cuda_declarations_are_those_of_its_header(tmp_path):
    place = header("/usr/local/cuda/include/cuda.h", "/usr/include/cuda.h").parent
    source = CUDA % {"normal": NORMAL}
    done = compiles(tmp_path, source, f"-I{place}")
    assert done.returncode == 0, done.stderr[:3000]
    wrong = source.replace("int (*) arguments", "int (*)(double)")
    assert compiles(tmp_path, wrong, f"-I{place}").returncode != 0  # the check can fail


def test_hip_declarations_are_those_of_its_header(tmp_path):
    place = header("/usr/include/hip/hip_runtime_api.h", "/opt/rocm/include/hip/hip_runtime_api.h")
    entries = (NATIVE / "hip_entries.inc").read_text()
    for name in OVERLOADED:  # which is the C function, the cast below says
        entries = re.sub(rf"FIELDFORGE_HIP\(\w+, {name},[^)]*\)\)", "", entries)
    source = HIP_CHECK % {"normal": NORMAL, "entries": entries}
    done = compiles(tmp_path, source, f"-I{place.parent.parent}")
    assert done.returncode == 0, done.stderr[:3000]
    wrong = source.replace("int (*) arguments", "int (*)(double)")
    assert compiles(tmp_path, wrong, f"-I{place.parent.parent}").returncode != 0
