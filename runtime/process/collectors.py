"""Collectors: context managers that add a sample to a metric of the running call."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from contextvars import Token
from time import perf_counter
from typing import Any, ClassVar

from .metrics import (
    add_sample_to_current_source,
    begin_call,
    end_call,
    is_level_enabled,
    set_current_source_key,
)


class BaseMetricsCollector:
    """A context manager that adds one sample to the source of the running call.

    Where its level is not enabled on entry it does nothing. An error leaves no sample. Subclasses
    say what they measure in their class statement, or are made by `make_collector`.

    >>> class Steps(BaseMetricsCollector, level=1, metric_name="steps"):
    ...     pass
    >>> Steps.metric_name, Steps.level
    ('steps', 1)

    Args:
        key: the source that the sample goes to, in place of that of the running call.

    """

    level: ClassVar[int]
    metric_name: ClassVar[str]
    collect_enter_counter: ClassVar[Callable[[], Any]] = staticmethod(perf_counter)
    collect_exit_counter: ClassVar[Callable[[], Any]] = staticmethod(perf_counter)
    compute_metric: ClassVar[Callable[[Any, Any], float]] = staticmethod(operator.sub)

    def __init_subclass__(
        cls,
        *,
        level: int | None = None,
        metric_name: str | None = None,
        collect_enter_counter: Callable[[], Any] | None = None,
        collect_exit_counter: Callable[[], Any] | None = None,
        compute_metric: Callable[[Any, Any], float] | None = None,
        **more: Any,
    ) -> None:
        """Set the counters; the counter on entry serves the exit too, unless that has its own."""
        super().__init_subclass__(**more)
        if level is not None:
            cls.level = level
        if metric_name is not None:
            cls.metric_name = metric_name
        leave = collect_exit_counter or collect_enter_counter
        if collect_enter_counter is not None:
            cls.collect_enter_counter = staticmethod(collect_enter_counter)
        if leave is not None:
            cls.collect_exit_counter = staticmethod(leave)
        if compute_metric is not None:
            cls.compute_metric = staticmethod(compute_metric)

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self._token: Token[Any] | None = None
        self._enabled = False
        self._before: Any = None

    def __enter__(self) -> BaseMetricsCollector:
        self._enabled = is_level_enabled(self.level)
        if self._enabled:
            if self.key is not None:
                self._token = begin_call()
                set_current_source_key(self.key)
            self._before = type(self).collect_enter_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        try:
            if self._enabled and kind is None:
                now = type(self).collect_exit_counter()
                sample = type(self).compute_metric(now, self._before)
                add_sample_to_current_source(self.metric_name, sample)
        finally:
            if self._token is not None:
                end_call(self._token)
                self._token = None


def make_collector(
    level: int,
    metric_name: str,
    *,
    collect_enter_counter: Callable[[], Any] | None = None,
    collect_exit_counter: Callable[[], Any] | None = None,
    compute_metric: Callable[[Any, Any], float] | None = None,
) -> type[BaseMetricsCollector]:
    """Return the class of the collectors of one metric.

    They are used as in `with collector(): ...`. A counter is read on entry and on exit, the
    clock by default; a sample is `compute_metric(exit, entry)`, their difference by default.
    """
    chosen = {
        "level": level,
        "metric_name": metric_name,
        "collect_enter_counter": collect_enter_counter,
        "collect_exit_counter": collect_exit_counter,
        "compute_metric": compute_metric,
    }
    return types.new_class(f"CollectorOf_{metric_name}", (BaseMetricsCollector,), chosen)
