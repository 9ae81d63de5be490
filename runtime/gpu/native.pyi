from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, final

from .array import Array

Extent = int | Sequence[int]

@final
class Device:
    """A GPU; `Device(0) is Device(0)`. Without a number it is the current one.

    What is done with an object of a device happens on that device, whichever is current.
    """

    def __new__(cls, id: int | None = None, *, platform: str | None = None) -> Device: ...  # noqa: A002
    @property
    def id(self) -> int: ...
    @property
    def platform(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def arch(self) -> str:
        """The architecture that kernels are compiled for: sm_90, gfx90a, host."""

    @property
    def pci_bus_id(self) -> str: ...
    @property
    def uuid(self) -> bytes: ...
    @property
    def context(self) -> int:
        """The address of the primary context, which CuPy and torch share."""

    @property
    def dlpack_type(self) -> int:
        """What DLPack calls such a device: 2 CUDA, 10 ROCm, 12 null."""

    @property
    def memory(self) -> Any:
        """The resource that arrays get their memory from; can be set to another one."""

    @memory.setter
    def memory(self, resource: Any) -> None: ...
    def attribute(self, name: str) -> int:
        """Return a number such as `multiprocessor_count`; a name nobody knows is a ValueError."""

    @staticmethod
    def attribute_names() -> list[str]: ...
    def set_current(self) -> Device:
        """Make it the current device of this thread."""

    def sync(self) -> None:
        """Wait for everything that the device was given."""

    def memory_info(self) -> tuple[int, int]:
        """Return the bytes that are free, and all there are."""

    def can_access(self, peer: Device) -> bool: ...
    def enable_peer(self, peer: Device) -> None:
        """Let kernels of this device read and write memory of `peer`."""

    def __enter__(self) -> Device: ...
    def __exit__(self, *args: object) -> None: ...

class Stream:
    """Work that is done in the order in which it was given; streams run beside each other.

    Streams come from a pool, and go back to it with the last reference.
    """

    def __init__(
        self, device: Device | int | None = None, *, priority: int = 0, nonblocking: bool = True
    ) -> None: ...
    @staticmethod
    def from_handle(
        ptr: int, *, owner: object = None, device: Device | int | None = None
    ) -> Stream: ...
    @staticmethod
    def from_object(obj: Any, *, device: Device | int | None = None) -> Stream:
        """Take a stream of CuPy, torch, cuda.core (`__cuda_stream__`), or an address."""

    @property
    def ptr(self) -> int: ...
    @property
    def device(self) -> Device: ...
    @property
    def priority(self) -> int: ...
    @property
    def done(self) -> bool: ...
    @property
    def capturing(self) -> bool: ...
    def sync(self) -> None: ...
    def record(self, event: Event | None = None) -> Event: ...
    def wait(self, event_or_stream: Any) -> None:
        """Let what comes next wait for an event, or for what a stream was given so far."""

    def capture(self, mode: str = "thread_local") -> Graph:
        """Make a graph of what the stream is given in a `with` block; nothing runs there."""

    def __cuda_stream__(self) -> tuple[int, int]: ...
    def __enter__(self) -> Stream: ...
    def __exit__(self, *args: object) -> None: ...

class Event:
    """A place in a stream that can be waited for, and timed; events come from a pool."""

    def __init__(
        self,
        device: Device | int | None = None,
        *,
        timing: bool = False,
        blocking: bool = False,
    ) -> None: ...
    def record(self, stream: Any = None, /) -> Event: ...
    @property
    def ptr(self) -> int: ...
    @property
    def device(self) -> Device: ...
    @property
    def timing(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    def sync(self) -> None: ...
    def __sub__(self, earlier: Event) -> float:
        """Milliseconds between two events that were recorded and are done."""

@final
class Buffer:
    """Bytes on a device or the host; freed in the order of the stream that used them last.

    Where it is used on another stream than before, that one is waited for.
    """

    @property
    def ptr(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def device(self) -> Device | None: ...
    @property
    def stream(self) -> Stream | None: ...
    @property
    def owner(self) -> Any: ...
    @property
    def is_host_accessible(self) -> bool: ...
    @property
    def is_device_accessible(self) -> bool: ...
    def free(self, stream: Any = None) -> None: ...
    def use_on(self, stream: Any = None) -> None:
        """Hand it to a stream, which waits for the one that used it before."""

    def copy_from(self, source: Any, *, stream: Any = None) -> None:
        """Copy a buffer, or memory of the host, of the same size."""

    def copy_to(self, target: Any, *, stream: Any = None) -> None: ...
    def fill(self, value: int, *, width: int = 1, stream: Any = None) -> None: ...
    @staticmethod
    def from_handle(
        ptr: int,
        size: int,
        *,
        device: Device | int | None = None,
        owner: object = None,
        stream: Any = None,
        on_host: bool = False,
    ) -> Buffer: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class _Resource:
    def allocate(self, size: int, *, stream: Any = None) -> Buffer: ...
    def deallocate(self, ptr: int, size: int, *, stream: Any = None) -> None: ...
    @property
    def device(self) -> Device: ...
    @property
    def kind(self) -> str: ...
    @property
    def is_host_accessible(self) -> bool: ...
    @property
    def is_device_accessible(self) -> bool: ...

class PoolMemoryResource(_Resource):
    """Memory in the order of streams, from the pool that is current on the device or an own one.

    A pool gives memory that it holds beyond `release_threshold` bytes back when the device is
    waited for. That is 0 by default; time loops want more.
    """

    release_threshold: int
    def __init__(
        self,
        device: Device | int | None = None,
        *,
        own: bool = False,
        release_threshold: int | None = None,
    ) -> None: ...
    @property
    def ptr(self) -> int: ...
    @property
    def used(self) -> int: ...
    @property
    def reserved(self) -> int: ...
    def trim(self, keep: int = 0) -> None: ...

class DeviceMemoryResource(_Resource):
    """Memory whose allocation and release wait for the whole device."""

    def __init__(self, device: Device | int | None = None) -> None: ...

class PinnedMemoryResource(_Resource):
    """Memory of the host that devices copy from and to without waiting; it is kept for reuse."""

    def __init__(self, device: Device | int | None = None) -> None: ...

class ManagedMemoryResource(_Resource):
    """Memory that moves between host and device where it is used."""

    def __init__(self, device: Device | int | None = None) -> None: ...

class HostMemoryResource:
    """Plain memory of the host, aligned; devices cannot use it in kernels."""

    def __init__(self, alignment: int = 64) -> None: ...
    def allocate(self, size: int, *, stream: Any = None) -> Buffer: ...
    @property
    def alignment(self) -> int: ...
    @property
    def is_host_accessible(self) -> bool: ...
    @property
    def is_device_accessible(self) -> bool: ...

class ArrayBase:
    @staticmethod
    def from_any(obj: Any, *, writable: bool | None = None, order_after: bool = True) -> Array:
        """Take an array of any library without a copy; a host array stays on the host.

        With `order_after`, what our current stream is given next waits for what the producer has
        under way. `writable=True` refuses arrays that are read-only, `False` gives a view that is.
        """

    @property
    def ptr(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def is_dense(self) -> bool: ...
    @property
    def is_host_accessible(self) -> bool: ...
    @property
    def owner(self) -> Any: ...
    @property
    def device(self) -> Device | None: ...
    @property
    def stream(self) -> Stream | None: ...
    @property
    def _type(self) -> tuple[int, int]: ...
    def _view(
        self,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        readonly: bool = False,
    ) -> Array: ...
    def _export(self, stream: Any, max_version: tuple[int, int] | None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class ModuleBase:
    def __init__(self, image: bytes, device: Device | int | None = None) -> None: ...
    def kernel(self, name: str) -> Kernel: ...
    def get_global(self, name: str) -> tuple[int, int]:
        """Return the address and size of a variable of the module."""

    @property
    def device(self) -> Device: ...
    @property
    def ptr(self) -> int: ...

@final
class Kernel:
    """A function that a grid of threads runs; it keeps its module loaded."""

    @property
    def name(self) -> str: ...
    @property
    def module(self) -> ModuleBase: ...
    @property
    def device(self) -> Device: ...
    @property
    def ptr(self) -> int: ...
    @property
    def registers(self) -> int: ...
    @property
    def local_bytes(self) -> int: ...
    @property
    def shared_bytes(self) -> int: ...
    @property
    def max_threads(self) -> int: ...
    def occupancy(self, threads: int, shmem: int = 0) -> int:
        """Return how many blocks of so many threads a multiprocessor holds."""

    def prepare(
        self,
        format: str,  # noqa: A002
        *,
        grid: Extent = 1,
        block: Extent = 1,
        shmem: int = 0,
        cooperative: bool = False,
    ) -> Launcher:
        """Fix the types of the arguments, see the module `gpu`, and the grid unless calls do."""

    def launch(
        self,
        grid: Extent,
        block: Extent,
        args: Sequence[Any] = (),
        *,
        shmem: int = 0,
        stream: Any = None,
        cooperative: bool = False,
    ) -> None:
        """Launch once. Integers are of 8 bytes and floats double; NumPy scalars have their own."""

@final
class Launcher:
    """A kernel whose argument types are known.

    Pointers are arrays of ours, buffers, GPU fields, addresses, None, or arrays of any library.
    """

    def __call__(
        self,
        *args: Any,
        stream: Any = None,
        grid: Extent | None = None,
        block: Extent | None = None,
    ) -> None: ...
    def bind(
        self,
        *args: Any,
        stream: Any = None,
        grid: Extent | None = None,
        block: Extent | None = None,
    ) -> BoundCall:
        """Fix all arguments, which the result keeps; order with other streams is up to you."""

    @property
    def kernel(self) -> Kernel: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...

@final
class BoundCall:
    """A kernel with its arguments: a call is one call of the driver."""

    def __call__(
        self, *, stream: Any = None, grid: Extent | None = None, block: Extent | None = None
    ) -> None: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...

class Graph:
    """What a stream was given while it captured; it keeps what its kernels use."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        type: type[BaseException] | None,  # noqa: A002
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def instantiate(self) -> GraphExec: ...
    @property
    def nodes(self) -> int: ...
    @property
    def device(self) -> Device: ...
    @property
    def ptr(self) -> int: ...

class GraphExec:
    """A graph that is ready to run."""

    def launch(self, stream: Any = None, /) -> None: ...
    def upload(self, stream: Any = None) -> None:
        """Send it to the device ahead of its first launch."""

    def update(self, graph_or_mapping: Graph | Mapping[Any, Any]) -> None:
        """Take the arguments of a graph of the same form, or other memory.

        A mapping says which buffer or array, of those that were captured, gives way to which.
        """

    @property
    def device(self) -> Device: ...
    @property
    def ptr(self) -> int: ...

class _Null:
    def record(self, on: bool) -> None: ...
    def calls(self) -> list[tuple[str, int]]: ...
    def problems(self) -> list[str]: ...
    def forget_problems(self) -> None: ...
    def allocations(self) -> list[tuple[int, int, str, int]]: ...
    def set_device_count(self, count: int) -> None: ...
    def set_guard(self, side: int) -> None: ...
    def set_memory(self, device: int, bytes: int) -> None: ...  # noqa: A002
    def fail_next(self, entry: str, code: int) -> None: ...
    def handles(self) -> int: ...

null: _Null

def take_edges() -> list[tuple[str, int, int, int]]: ...
def take_ranges() -> list[str]: ...
def wait_for_kernels(on: bool) -> None: ...
def array_on(
    buffer: Buffer,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    code: int,
    bits: int,
    readonly: bool = False,
) -> Array: ...
def copy_array(
    to: ArrayBase, source: ArrayBase, stream: Any = None, wait: bool = False
) -> None: ...
def current_device() -> Device: ...
def current_stream(device: Device | int | None = None) -> Stream: ...
def device_count(platform: str | None = None) -> int: ...
def driver_version(platform: str | None = None) -> int: ...
def forget_default_platform() -> None: ...
def import_array(obj: Any, order_after: bool = True) -> Array: ...
def log_edges(platform: str, on: bool) -> None: ...
def mark_ranges(platform: str) -> bool: ...
def set_current_stream(stream: Stream) -> None: ...
def set_hooks(choose: Any, error: Any, lost: Any, foreign: Any, library: Any) -> None: ...
