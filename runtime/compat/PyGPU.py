"""PybindGPU's names under the name of its native module, `PyGPU`."""  # noqa: N999

from __future__ import annotations

from typing import Any

from . import pybindgpu
from .pybindgpu import *  # noqa: F403  # the same names


def __getattr__(name: str) -> Any:
    return getattr(pybindgpu, name)
