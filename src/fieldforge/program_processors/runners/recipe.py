"""What the runners share: our recipes have no GPU yet, and backends may be given another name."""

from __future__ import annotations

import attrs

from ...runtime.process.errors import OptionError
from ...workflows.backends.backend import Backend


def refuse_gpu(gpu: bool) -> None:
    """Say that there is no GPU backend where one is asked for."""
    if gpu:
        raise OptionError(
            "There is no GPU backend in this version, got 'gpu=True'.",
            hints=["Use 'gpu=False', or 'backend=None' to run embedded."],
        )


def renamed(backend: Backend, postfix: str) -> Backend:
    """Return the backend with something added to its name."""
    return attrs.evolve(backend, name=backend.name + postfix) if postfix else backend
