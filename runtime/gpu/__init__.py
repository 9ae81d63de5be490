"""Devices, streams, memory, kernels and graphs, for NVIDIA and AMD, without CUDA at build time.

Importing this touches no driver. `FIELDFORGE_GPU` names the platform (cuda, hip or null); by
default it is the first that has a GPU. The null platform simulates two devices on the host.

>>> from fieldforge.runtime import gpu
>>> device = gpu.Device(0, platform="null")
>>> image = gpu.compile_kernels('''
...     extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
...         int i = blockIdx.x * blockDim.x + threadIdx.x;
...         if (i < n) y[i] += a * x[i];
...     }''', arch=device.arch)
>>> kernel = gpu.Module.load(image, device=device).kernel("axpy")
>>> x = gpu.Array.full(1000, 2.0, device=device)
>>> y = gpu.Array.zeros(1000, device=device)
>>> axpy = kernel.prepare("dRPi", grid=4, block=256)
>>> axpy(3.0, x, y, 1000)                        # with all arguments
>>> step = axpy.bind(1.0, x, y, 1000)            # a bound call: one call of the driver
>>> step()
>>> with gpu.Stream(device) as stream, stream.capture() as graph:
...     step()
...     step()
>>> repeated = graph.instantiate()
>>> repeated.launch()
>>> float(y.to_host()[999])
12.0

The letters of `prepare` are types: P a pointer that the kernel writes, R one that it only reads,
`? b B h H i I q Q e f d` the scalars of the module `struct`, and `24s` a structure of 24 bytes.
An image for the null platform is a shared library, see `Module`.
"""

from ..process import settings
from . import native, null
from .array import Array
from .compiler import compile_kernels
from .errors import (
    GpuError,
    GpuMemoryError,
    GpuOrderWarning,
    GpuUnavailableError,
    KernelCompileError,
    report_lost,
)
from .libraries import current_stream_of
from .module import Module
from .native import (
    BoundCall,
    Buffer,
    Device,
    DeviceMemoryResource,
    Event,
    Graph,
    GraphExec,
    HostMemoryResource,
    Kernel,
    Launcher,
    ManagedMemoryResource,
    PinnedMemoryResource,
    PoolMemoryResource,
    Stream,
    current_device,
    set_hooks,
)
from .platform import (
    choose,
    device_count,
    driver_version,
    is_available,
    platform,
    set_platform,
    use_platform,
)
from .stream import current_stream, set_current_stream, use_stream

set_hooks(choose, GpuError.of, report_lost, Array.from_any, current_stream_of)
native.null.set_device_count(settings.current().gpu_devices)

__all__ = [
    "Array",
    "BoundCall",
    "Buffer",
    "Device",
    "DeviceMemoryResource",
    "Event",
    "GpuError",
    "GpuMemoryError",
    "GpuOrderWarning",
    "GpuUnavailableError",
    "Graph",
    "GraphExec",
    "HostMemoryResource",
    "Kernel",
    "KernelCompileError",
    "Launcher",
    "ManagedMemoryResource",
    "Module",
    "PinnedMemoryResource",
    "PoolMemoryResource",
    "Stream",
    "compile_kernels",
    "current_device",
    "current_stream",
    "device_count",
    "driver_version",
    "is_available",
    "null",
    "platform",
    "set_current_stream",
    "set_platform",
    "use_platform",
    "use_stream",
]
