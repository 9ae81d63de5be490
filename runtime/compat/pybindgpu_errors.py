"""Errors as PybindGPU has them: values that are returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..gpu.errors import GpuError

T = TypeVar("T")


class cudaError_t:  # noqa: N801  # PybindGPU's name
    """The code of an error, 0 if there was none; compares with codes and is true if one is set."""

    def __init__(self, code: int = 0, name: str = "", text: str = "") -> None:
        self.code = code
        self.name = name or ("cudaSuccess" if code == 0 else f"error {code}")
        self.text = text or ("no error" if code == 0 else self.name)

    def as_int(self) -> int:
        """Return the code."""
        return self.code

    def __int__(self) -> int:
        return self.code

    def __bool__(self) -> bool:
        return self.code != 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | cudaError_t) and int(other) == self.code

    def __hash__(self) -> int:
        return hash(self.code)

    def __repr__(self) -> str:
        return f"<CudaError: 'code={self.code}'>"


_last: list[cudaError_t] = [cudaError_t()]


def last_error(*, forget: bool) -> cudaError_t:
    """Return the error of the last call that failed."""
    found = _last[0]
    if forget:
        _last[0] = cudaError_t()
    return found


def attempt(work: Callable[[], T], otherwise: T) -> tuple[T, cudaError_t]:
    """Return what `work` returns and no error, or `otherwise` and its error."""
    try:
        return work(), cudaError_t()
    except GpuError as error:
        _last[0] = cudaError_t(error.code, error.name, error.message)
        return otherwise, _last[0]


class Status:
    """An object that remembers the error of its last call."""

    def __init__(self) -> None:
        self._status = cudaError_t()

    def last_status(self) -> cudaError_t:
        """Return the error of the last call."""
        return self._status

    def note(self, error: cudaError_t) -> cudaError_t:
        """Remember the error of a call."""
        self._status = error
        return error

    def keep(self, answer: tuple[T, cudaError_t]) -> T:
        """Remember the error of a call, and return its value."""
        self._status = answer[1]
        return answer[0]
