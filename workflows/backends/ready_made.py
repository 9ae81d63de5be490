"""The ready-made backends, and how to find one by name."""

from __future__ import annotations

from typing import Final

from ...runtime.process.errors import OptionError
from . import recipes
from .backend import Backend

cpu: Final = recipes.cpu()
dace_cpu: Final = recipes.dace()
reference: Final = recipes.reference()
gpu: Final = recipes.gpu()
dace_gpu: Final = recipes.dace_gpu()
gtfn_cpu: Final = cpu
gtfn_gpu: Final = gpu
itir_python: Final = reference

BACKENDS: Final[dict[str, Backend]] = {
    "cpu": cpu,
    "dace_cpu": dace_cpu,
    "reference": reference,
    "gpu": gpu,
    "dace_gpu": dace_gpu,
    "gtfn_cpu": gtfn_cpu,
    "gtfn_gpu": gtfn_gpu,
    "itir_python": itir_python,
}


def find_backend(given: Backend | str | None) -> Backend | None:
    """Return a backend by name, or the one given; 'none' and 'embedded' are None.

    >>> find_backend("cpu").name
    'cpu'
    """
    if given is None or isinstance(given, Backend):
        return given
    if isinstance(given, str):
        if given in ("none", "embedded"):
            return None
        if given in BACKENDS:
            return BACKENDS[given]
        raise OptionError(f"There is no backend '{given}'.", name=given, known=[*BACKENDS, "none"])
    raise OptionError(
        f"A backend is a 'Backend', the name of one, or None, got '{given!r}'.", known=BACKENDS
    )
