"""The times of a call, as `exec_info` receives them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final, Self

from ...runtime.process import classes
from .arguments import Origins
from .backends import PYTHON
from .parts import StencilParts

AGGREGATE: Final = "__aggregate_data"


@classes.frozen(eq=False)
class CallTimes:
    """Writes the times of one call into a dictionary; without one it writes nothing.

    With `__aggregate_data` the dictionary gets sums under the name of the stencil's class, too.
    """

    info: dict[str, Any] | None
    name: str
    is_compiled: bool

    @classmethod
    def begin(cls, info: dict[str, Any] | None, name: str, parts: StencilParts) -> Self:
        """Note the begin of a call."""
        languages = parts.backend.languages or {}
        made = cls(info, name, languages.get("computation") != PYTHON)
        if name:
            made._note("call_start_time", "call_run_start_time")
        return made

    @contextmanager
    def of_frozen(self, domain: tuple[int, ...], origins: Origins) -> Iterator[None]:
        """Note domain, origins, begin and end of a call whose domain and origins are frozen."""
        self.ready(domain, origins)
        self._note("call_run_start_time")
        yield
        self._note("call_run_end_time")

    def ready(self, domain: tuple[int, ...], origins: Origins) -> None:
        """Note the domain and the origins."""
        if self.info is not None:
            self.info["domain"], self.info["origin"] = domain, origins

    @contextmanager
    def of_run(self) -> Iterator[None]:
        """Note begin and end of the run itself."""
        inside = ("run_cpp",) if self.is_compiled else ()
        self._note("run_start_time", *(f"{each}_start_time" for each in inside))
        yield
        self._note(*(f"{each}_end_time" for each in inside), "run_end_time")

    def end(self) -> None:
        """Note the end of the call, and add it up."""
        self._note("call_run_end_time", "call_end_time")
        if self.info is None:
            return
        if self.info.setdefault(AGGREGATE, False):
            self._add_up(self.info)

    def _add_up(self, info: dict[str, Any]) -> None:
        sums = info.setdefault(self.name, {"ncalls": 0})
        sums["ncalls"] += 1
        sums["call_start_time"], sums["call_end_time"] = (
            info["call_start_time"],
            info["call_end_time"],
        )
        for part in ("call", "run", *(("run_cpp",) if self.is_compiled else ())):
            seconds = info[f"{part}_end_time"] - info[f"{part}_start_time"]
            sums[f"{part}_time"] = seconds
            sums[f"total_{part}_time"] = sums.get(f"total_{part}_time", 0.0) + seconds

    def _note(self, *names: str) -> None:
        if self.info is not None:
            for name in names:
                self.info[name] = perf_counter()
