"""The vendors that there are; a new one is a module beside this and a name here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .amd import AMD
from .nvidia import NVIDIA
from .vendor import Gpu, Vendor

VENDORS: Final = (NVIDIA, AMD)
GPUS: Final[Mapping[str, Gpu]] = {
    name: gpu for vendor in VENDORS for name, gpu in vendor.gpus.items()
}


def vendor_of(arch: str) -> Vendor:
    """Return the vendor of an architecture.

    >>> vendor_of("gfx90a").name
    'amd'
    """
    return next(vendor for vendor in VENDORS if arch.startswith(vendor.prefix))
