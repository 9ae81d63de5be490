"""Calls whose kernels are queued on a stream that the caller chose."""

from __future__ import annotations

from typing import Any

from ..gpu import use_stream
from ..process import classes


@classes.frozen
class OnStream:
    """A program or operator that queues its work on one stream; attributes are the program's."""

    call: Any
    stream: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make a call; it returns before the work is done."""
        with use_stream(self.stream):
            return self.call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.call, name)
