"""Errors of the GPU runtime: the vendor's code and name, the call, and its object."""

from __future__ import annotations

from typing import Final

from ..process import FieldforgeError, get_logger

OUT_OF_MEMORY: Final = 2
NO_DRIVER: Final = -1
NO_DEVICE: Final = 100
NO_SUCH_DEVICE: Final = 101
_log: Final = get_logger("fieldforge.gpu")


class GpuError(FieldforgeError, RuntimeError):
    """A call of the driver that failed.

    Attributes:
        code: the vendor's number, such as 700; -1 where there is no driver to ask.
        name: the vendor's name of it, such as CUDA_ERROR_ILLEGAL_ADDRESS.
        where: the call that failed, such as cuLaunchKernel.
        what: the object that the call was about, such as "kernel 'axpy'".

    >>> GpuError.of(719, "CUDA_ERROR_LAUNCH_FAILED", "cuLaunchKernel", "kernel 'axpy'", "").message
    "The call 'cuLaunchKernel' failed for kernel 'axpy': CUDA_ERROR_LAUNCH_FAILED (719)."

    """

    code: int
    name: str
    where: str
    what: str

    @staticmethod
    def of(code: int, name: str, where: str, what: str, text: str) -> GpuError:
        """Make the error that a failed call means; `text` is what the vendor says of the code."""
        kind: type[GpuError] = GpuError
        detail = f": {text.rstrip('.')}" if text else ""
        message = f"The call '{where}' failed for {what}: {name} ({code}){detail}."
        hint = None
        if code == OUT_OF_MEMORY and text.startswith("asked"):
            kind = GpuMemoryError
            message = f"The memory of {what} does not suffice: {text}."
        elif not where:
            kind, message = GpuUnavailableError, text
        elif code == 700:
            hint = "Synchronise after each launch to find the kernel, or use compute-sanitizer."
        elif code in (209, 218, 222):
            hint = (
                "The code was compiled for another device or by a compiler newer than the driver."
            )
        error = kind(message, hint=hint)
        error.code, error.name, error.where, error.what = code, name, where, what
        return error


class GpuMemoryError(GpuError, MemoryError):
    """A device has no memory left, after its pools were trimmed once."""


class GpuUnavailableError(GpuError):
    """There is no GPU, no driver, or a driver that is too old."""


class GpuOrderWarning(RuntimeWarning):
    """A program used a field that another stream was given, and nothing orders the two."""


class KernelCompileError(GpuError):
    """A kernel does not compile; `log` is what the compiler says."""

    log: str


def report_lost(device: str, text: str) -> None:
    """Log an error of a destructor; the next call on the device raises it."""
    _log.error("gpu.error_in_destructor", device=device, error=text)
