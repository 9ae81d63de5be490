"""GPU modules of one program for several architectures, packed into one sequence of bytes.

The header has a line for each module, `sm_90 12345`; an empty line and the modules follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_HEAD: Final = b"fieldforge-kernels-1\n"


def pack_images(images: Mapping[str, bytes]) -> bytes:
    """Pack modules, by architecture, into one image.

    >>> len(pack_images({"sm_90": b"abc"}))
    33
    """
    lines = [f"{arch} {len(image)}\n".encode() for arch, image in images.items()]
    return b"".join([_HEAD, *lines, b"\n", *images.values()])


def unpack_images(packed: bytes) -> dict[str, bytes]:
    """Return the modules by architecture; damaged bytes are a `ValueError`.

    >>> unpack_images(pack_images({"sm_80": b"abc", "sm_90": b"de"}))
    {'sm_80': b'abc', 'sm_90': b'de'}
    """
    if not packed.startswith(_HEAD):
        raise ValueError("These are no modules of kernels.")
    head, found, rest = packed[len(_HEAD) :].partition(b"\n\n")
    if not found:
        raise ValueError("The list of modules does not end.")
    images: dict[str, bytes] = {}
    for line in head.decode().splitlines():
        arch, size = line.split()
        images[arch], rest = rest[: int(size)], rest[int(size) :]
        if len(images[arch]) != int(size):
            raise ValueError(f"The module for '{arch}' is incomplete.")
    if rest:
        raise ValueError("Something follows the modules.")
    return images
