"""Metrics: how long calls take, kept by what was called.

`sources` has one entry for each variant of each program; its `metrics` are lists of samples, in
seconds: `total` for whole calls (from `MINIMAL` on), `compute` for the compiled code alone (from
`PERFORMANCE` on). How much is measured is the setting `collect_metrics`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

import attrs

from .settings import METRICS_LEVELS, current

DISABLED, MINIMAL, PERFORMANCE, INFO, VERBOSE, ALL = METRICS_LEVELS

V = TypeVar("V")


class _Filling(dict[str, V]):
    """A dictionary that makes what it is asked for; threads that ask at once get the same."""

    def __init__(self, make: Callable[[], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: str) -> V:
        return self.setdefault(key, self._make())


@attrs.define
class Metric:
    """Samples of one quantity.

    >>> metric = Metric([1.0, 3.0])
    >>> metric.add_sample(2.0)
    >>> metric.mean, round(metric.std, 3), str(metric)
    (2.0, 0.816, '2.00000e+00 ± 8.2e-01')
    """

    samples: list[float] = attrs.field(factory=list)

    def add_sample(self, sample: float) -> None:
        """Keep one more sample."""
        self.samples.append(sample)

    @property
    def mean(self) -> float:
        """The mean of the samples, NaN without any."""
        found = tuple(self.samples)
        return math.fsum(found) / len(found) if found else math.nan

    @property
    def std(self) -> float:
        """The standard deviation of the samples as a population, NaN without any."""
        found, mean = tuple(self.samples), self.mean
        if not found:
            return math.nan
        return math.sqrt(math.fsum((each - mean) ** 2 for each in found) / len(found))

    def __str__(self) -> str:
        return f"{self.mean:.5e} ± {self.std:.1e}" if self.samples else "no samples"


@attrs.define
class Source:
    """What was measured of one variant of a program, and what is known of it."""

    metadata: dict[str, Any] = attrs.field(factory=dict)
    metrics: dict[str, Metric] = attrs.field(factory=lambda: _Filling(Metric))


class _Sources(_Filling[Source]):
    """All sources of the process; the first one arranges for them to be written at the end."""

    def __init__(self) -> None:
        super().__init__(Source)

    def __missing__(self, key: str) -> Source:
        if not self:
            _dump_at_exit()
        return super().__missing__(key)


sources: Final[dict[str, Source]] = _Sources()


# --- how much is measured ---------------------------------------------------------------------


def get_current_level() -> int:
    """Return how much is measured: one of the levels of this module."""
    return current().collect_metrics


def is_any_level_enabled() -> bool:
    """Say whether anything is measured."""
    return get_current_level() > DISABLED


def is_level_enabled(level: int) -> bool:
    """Say whether what belongs to a level is measured."""
    return get_current_level() >= level


# --- whose samples they are -------------------------------------------------------------------


class _Call:
    """One call that is under way: which source its samples go to is known when it has run."""

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: str | None = None


_CALL: Final[ContextVar[_Call | None]] = ContextVar("fieldforge_metrics_call", default=None)


def begin_call() -> Token[_Call | None]:
    """Begin a call whose source is not known yet; `end_call` takes what is returned."""
    return _CALL.set(_Call())


def end_call(token: Token[_Call | None]) -> None:
    """Return to the call around the one that ends."""
    _CALL.reset(token)


def is_current_source_key_set() -> bool:
    """Say whether it is known which source the running call belongs to."""
    call = _CALL.get()
    return call is not None and call.key is not None


def get_current_source_key() -> str:
    """Return the key in `sources` of the running call; a `RuntimeError` where none is known."""
    call = _CALL.get()
    if call is None or call.key is None:
        raise RuntimeError("No call is running whose source of metrics is known.")
    return call.key


def set_current_source_key(key: str) -> Source:
    """Say which source the running call belongs to, and return it."""
    call = _CALL.get()
    if call is None:
        call = _Call()
        _CALL.set(call)
    if call.key not in (None, key):
        raise RuntimeError(f"The running call belongs to source '{call.key}', got '{key}'.")
    call.key = key
    return sources[key]


def get_source(key: str, *, assign_current: bool = True) -> Source:
    """Return a source by its key, made if need be; the running call belongs to it from now on."""
    return set_current_source_key(key) if assign_current else sources[key]


# --- collectors -------------------------------------------------------------------------------


@attrs.define
class Collector:
    """A context manager that adds one sample to the source of the running call.

    Where its level is not enabled on entry it does nothing. An error leaves no sample.
    """

    level: int
    metric_name: str
    on_enter: Callable[[], Any]
    on_exit: Callable[[], Any]
    measure: Callable[[Any, Any], float]
    _before: Any = None
    _enabled: bool = False

    def __enter__(self) -> Collector:
        self._enabled = is_level_enabled(self.level)
        if self._enabled:
            self._before = self.on_enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._enabled and kind is None:
            sample = self.measure(self.on_exit(), self._before)
            sources[get_current_source_key()].metrics[self.metric_name].add_sample(sample)


def make_collector(
    level: int,
    metric_name: str,
    *,
    collect_enter_counter: Callable[[], Any] | None = None,
    collect_exit_counter: Callable[[], Any] | None = None,
    compute_metric: Callable[[Any, Any], float] = operator.sub,
) -> Callable[[], Collector]:
    """Return what makes the collectors of one metric.

    They are used as in `with collector(): ...`. A counter is read on entry and on exit, the
    clock by default; a sample is `compute_metric(exit, entry)`.
    """
    from time import perf_counter

    enter = collect_enter_counter or perf_counter
    leave = collect_exit_counter or collect_enter_counter or perf_counter
    return lambda: Collector(level, metric_name, enter, leave, compute_metric)


# --- output -----------------------------------------------------------------------------------


def dumps(metric_sources: Mapping[str, Source] | None = None) -> str:
    """Return a table: a row for each source, a column for each metric.

    >>> print(dumps({"smooth<'cpu'>": Source(metrics={"total": Metric([0.5])})}))
    source         total
    smooth<'cpu'>  5.00000e-01 ± 0.0e+00
    """
    found = dict(sources if metric_sources is None else metric_sources)
    names = sorted({name for source in found.values() for name in source.metrics})
    rows = [["source", *names]]
    for key, source in sorted(found.items()):
        rows.append([key, *(str(source.metrics.get(name, "-")) for name in names)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def dumps_json(metric_sources: Mapping[str, Source] | None = None) -> str:
    """Return sources as JSON: for each key its metadata and the samples of each metric."""
    import json

    found = dict(sources if metric_sources is None else metric_sources)
    plain = {
        key: {
            "metadata": source.metadata,
            "metrics": {name: metric.samples for name, metric in sorted(source.metrics.items())},
        }
        for key, source in sorted(found.items())
    }
    return json.dumps(plain, indent=2, default=str)


def dump(filename: str | Path, metric_sources: Mapping[str, Source] | None = None) -> None:
    """Write the table of `dumps` to a file."""
    Path(filename).write_text(dumps(metric_sources) + "\n", encoding="utf-8")


def dump_json(filename: str | Path, metric_sources: Mapping[str, Source] | None = None) -> None:
    """Write the JSON of `dumps_json` to a file."""
    Path(filename).write_text(dumps_json(metric_sources) + "\n", encoding="utf-8")


def _dump_at_exit() -> None:
    import atexit

    atexit.unregister(_dump_if_asked)
    atexit.register(_dump_if_asked)


def _dump_if_asked() -> None:
    """Write the sources to the file that the settings name, as JSON if its name says so."""
    target = current().dump_metrics
    if target is not None and sources:
        (dump_json if target.suffix == ".json" else dump)(target)
