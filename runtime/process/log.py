"""Logging that costs nothing until somebody listens: structlog is bound at the first event.

Events are printed to stderr from the level that `FIELDFORGE_LOG` names. Whoever has configured
structlog gets them through that configuration instead; otherwise they are dropped.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import attrs

from . import settings


@attrs.frozen
class Logger:
    """A named logger with bound values; `info("stage.finished", stage="lower")`."""

    name: str
    values: Mapping[str, Any] = attrs.field(factory=dict)

    def bind(self, **values: Any) -> Logger:
        """Return a logger that adds `values` to each event."""
        return Logger(self.name, {**self.values, **values})

    def debug(self, event: str, **values: Any) -> None:
        """Report a detail for those who work on fieldforge."""
        self._emit("debug", event, values)

    def info(self, event: str, **values: Any) -> None:
        """Report that something happened as it should."""
        self._emit("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        """Report something that works but costs more than it should."""
        self._emit("warning", event, values)

    def error(self, event: str, **values: Any) -> None:
        """Report something that went wrong."""
        self._emit("error", event, values)

    def listens(self, level: str) -> bool:
        """Tell whether anybody would hear of an event of this level."""
        if "structlog" in sys.modules and sys.modules["structlog"].is_configured():
            return True
        least = settings.current().log
        return bool(least) and settings.LEVELS.index(level) >= settings.LEVELS.index(least)

    def _emit(self, level: str, event: str, values: Mapping[str, Any]) -> None:
        if not self.listens(level):
            return
        theirs = "structlog" in sys.modules and sys.modules["structlog"].is_configured()
        target = sys.modules["structlog"].get_logger(self.name) if theirs else _printing_logger()
        getattr(target, level)(event, logger=self.name, **self.values, **values)


def get_logger(name: str = "fieldforge") -> Logger:
    """Return the logger of a part of the package."""
    return Logger(name)


def _printing_logger() -> Any:
    """Return a structlog logger of our own; the global configuration stays as it is."""
    structlog = importlib.import_module("structlog")
    return structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.BoundLogger,
    )
