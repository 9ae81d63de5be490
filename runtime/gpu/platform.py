"""Platforms: the driver that the runtime uses. Importing this module touches no driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

from ..process import settings
from . import native
from .errors import NO_DRIVER, GpuError, GpuUnavailableError

Platform: TypeAlias = Literal["cuda", "hip", "null"]
PLATFORMS: Final[tuple[Platform, ...]] = ("cuda", "hip")
_chosen: list[Platform] = []


def choose() -> str:
    """Return the platform that the process uses: the one set, or the first that has a GPU."""
    if _chosen:
        return _chosen[0]
    wanted = settings.current().gpu
    if wanted is not None:
        return wanted
    reasons = []
    for name in PLATFORMS:
        try:
            native.device_count(name)
        except GpuError as error:
            reasons.append(error.message)
        else:
            return name
    unavailable = GpuUnavailableError(
        f"There is no GPU: {' '.join(reasons)}",
        hint="FIELDFORGE_GPU=null runs on a simulated device in the memory of the host.",
    )
    unavailable.code, unavailable.name = NO_DRIVER, "UNAVAILABLE"
    unavailable.where = unavailable.what = ""
    raise unavailable


def platform() -> Platform | None:
    """Return the platform of this process, None where there is no GPU.

    >>> with use_platform("null"):
    ...     platform()
    'null'
    """
    try:
        found = choose()
    except GpuUnavailableError:
        return None
    return found if is_available(found) else None  # type: ignore[arg-type,return-value]  # checked by the setting


def is_available(name: Platform | None = None) -> bool:
    """Tell whether a platform, or any at all, has a device."""
    try:
        return native.device_count(name or choose()) > 0
    except GpuError:
        return False


def device_count(name: Platform | None = None) -> int:
    """Return how many devices there are, 0 where there is no driver.

    >>> device_count("null")
    2
    """
    return native.device_count(name or platform()) if is_available(name) else 0


def driver_version(name: Platform | None = None) -> int:
    """Return the driver's version as the vendor counts: 13000 is CUDA 13.0."""
    return native.driver_version(name)


def set_platform(name: Platform | None) -> None:
    """Choose the platform of devices that are made from now on; None returns to the settings.

    Objects that exist keep the platform that they were made on.
    """
    if name is not None and name not in (*PLATFORMS, "null"):
        raise ValueError(f"Expected one of 'cuda', 'hip' and 'null' as platform, got {name!r}.")
    _chosen[:] = [] if name is None else [name]
    native.forget_default_platform()


@contextmanager
def use_platform(name: Platform | None) -> Iterator[None]:
    """Choose the platform for a block."""
    before = _chosen[0] if _chosen else None
    set_platform(name)
    try:
        yield
    finally:
        set_platform(before)
