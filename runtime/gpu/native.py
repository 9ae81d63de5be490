"""The native objects of the GPU runtime (see `native/gpu/`), under one typed name."""

from .. import _core

ArrayBase = _core.gpu.ArrayBase
BoundCall = _core.gpu.BoundCall
Buffer = _core.gpu.Buffer
Device = _core.gpu.Device
DeviceMemoryResource = _core.gpu.DeviceMemoryResource
Event = _core.gpu.Event
Graph = _core.gpu.Graph
GraphExec = _core.gpu.GraphExec
HostMemoryResource = _core.gpu.HostMemoryResource
Kernel = _core.gpu.Kernel
Launcher = _core.gpu.Launcher
ManagedMemoryResource = _core.gpu.ManagedMemoryResource
ModuleBase = _core.gpu.Module
PinnedMemoryResource = _core.gpu.PinnedMemoryResource
PoolMemoryResource = _core.gpu.PoolMemoryResource
Stream = _core.gpu.Stream
array_on = _core.gpu.array_on
copy_array = _core.gpu.copy_array
current_device = _core.gpu.current_device
current_stream = _core.gpu.current_stream
device_count = _core.gpu.device_count
driver_version = _core.gpu.driver_version
forget_default_platform = _core.gpu.forget_default_platform
import_array = _core.gpu.import_array
log_edges = _core.gpu.log_edges
mark_ranges = _core.gpu.mark_ranges
null = _core.gpu.null
set_current_stream = _core.gpu.set_current_stream
set_hooks = _core.gpu.set_hooks
take_edges = _core.gpu.take_edges
take_ranges = _core.gpu.take_ranges
wait_for_kernels = _core.gpu.wait_for_kernels
