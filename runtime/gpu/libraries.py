"""The streams that other libraries work on: a call with their arrays follows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Ask: TypeAlias = Callable[[int], int]


def current_stream_of(library: str) -> Ask:
    """Return what tells the address of the current stream of 'cupy' or 'torch' on a device.

    It is 0 or 1 for the legacy stream, which our default stream is in order with.
    """
    return _FINDERS[library]()


def _of_cupy() -> Ask:
    import cupy

    current: Callable[[int], Any] = cupy.cuda.get_current_stream
    return lambda device: int(current(device).ptr)


def _of_torch() -> Ask:
    import torch

    raw: Ask | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return raw or (lambda device: int(torch.cuda.current_stream(device).cuda_stream))


_FINDERS: Final[Mapping[str, Callable[[], Ask]]] = {"cupy": _of_cupy, "torch": _of_torch}
