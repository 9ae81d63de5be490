"""Logging at no cost until it is configured: structlog is imported at the first event.

`FIELDFORGE_LOG` names the lowest level that is printed to stderr. If the application has
configured structlog, events go through that configuration; otherwise they are dropped.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from . import classes, settings


@classes.frozen
class Logger:
    """A named logger with bound values; `info("stage.finished", stage="lower")`."""

    name: str
    values: Mapping[str, Any] = classes.field(factory=dict)

    def bind(self, **values: Any) -> Logger:
        """Return a logger that adds `values` to each event."""
        return Logger(self.name, {**self.values, **values})

    def debug(self, event: str, **values: Any) -> None:
        """Log a detail for developers of fieldforge."""
        self._emit("debug", event, values)

    def info(self, event: str, **values: Any) -> None:
        """Log normal operation."""
        self._emit("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        """Log something that works but is slower than it should be."""
        self._emit("warning", event, values)

    def error(self, event: str, **values: Any) -> None:
        """Log a failure."""
        self._emit("error", event, values)

    def listens(self, level: str) -> bool:
        """Return True if events of this level are printed or forwarded."""
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
