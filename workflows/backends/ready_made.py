"""The ready-made backends, and the search by name."""

from __future__ import annotations

from typing import Final

from ...runtime.process.errors import OptionError
from .backend import Backend
from .known import ROWS

_MADE: Final = {row: row.backend() for row in ROWS}
# By name, then by alias.
BACKENDS: Final[dict[str, Backend]] = {row.name: made for row, made in _MADE.items()} | {
    alias: made for row, made in _MADE.items() for alias in row.aliases
}

cpu: Final = BACKENDS["cpu"]
dace_cpu: Final = BACKENDS["dace_cpu"]
reference: Final = BACKENDS["reference"]
gpu: Final = BACKENDS["gpu"]
gpu_host: Final = BACKENDS["gpu-host"]
dace_gpu: Final = BACKENDS["dace_gpu"]
gtfn_cpu: Final = BACKENDS["gtfn_cpu"]
gtfn_gpu: Final = BACKENDS["gtfn_gpu"]
itir_python: Final = BACKENDS["itir_python"]


def names_of_backend(name: str) -> tuple[str, ...]:
    """Return a backend's name and its aliases.

    >>> names_of_backend("gpu")
    ('gpu', 'gtfn_gpu', 'cpp_gpu')
    """
    return next(((row.name, *row.aliases) for row in ROWS if row.name == name), (name,))


def find_backend(given: Backend | str | None) -> Backend | None:
    """Return a backend by name in any case, or the one given; 'none' and 'embedded' are None.

    >>> find_backend("cpu").name, find_backend("GTFN_CPU").name
    ('cpu', 'cpu')
    """
    if given is None or isinstance(given, Backend):
        return given
    if isinstance(given, str):
        name = given.lower()
        if name in ("none", "embedded"):
            return None
        if name in BACKENDS:
            return BACKENDS[name]
        raise OptionError(f"There is no backend '{given}'.", name=given, known=[*BACKENDS, "none"])
    raise OptionError(
        f"A backend is a 'Backend', the name of one, or None, got '{given!r}'.", known=BACKENDS
    )
