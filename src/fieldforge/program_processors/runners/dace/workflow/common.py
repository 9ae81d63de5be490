"""Counterpart of gt4py's `dace.workflow.common`: types of workspaces, DaCe's configuration.

Builds configure DaCe themselves; `dace_context` is for code of models that uses DaCe directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from .....runtime.process.device import DeviceType
from .....stages.codegen.dace.settings import dace_defaults

__all__ = ["ExternalWorkspace", "dace_context"]

ExternalWorkspace: TypeAlias = dict[DeviceType, Any]
"""Arrays by device, as the option `external_workspace` has them."""


@contextmanager
def dace_context(device_type: DeviceType = DeviceType.CPU, **_: Any) -> Iterator[None]:
    """Run with the configuration of DaCe that builds have, in this thread."""
    with dace_defaults():
        if device_type in (DeviceType.CUDA, DeviceType.ROCM):
            from dace.config import Config

            name = "hip" if device_type == DeviceType.ROCM else "cuda"
            Config.set("compiler", "cuda", "backend", value=name)
        yield
