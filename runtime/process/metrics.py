"""Metrics: durations of calls, by program variant.

`sources` has one entry for each variant of each program; its `metrics` are lists of samples, in
seconds: `total` for whole calls (from `MINIMAL` on), `compute` for the compiled code alone (from
`PERFORMANCE` on). The setting `collect_metrics` is the level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextvars import ContextVar, Token
from pathlib import Path
from typing import Any, Final

from . import classes
from .settings import METRICS_LEVELS, current

DISABLED, MINIMAL, PERFORMANCE, INFO, VERBOSE, ALL = METRICS_LEVELS


@classes.define
class Metric:
    """Samples of one quantity.

    >>> metric = Metric("total", [1.0, 3.0])
    >>> metric.add_sample(2.0)
    >>> metric.mean, round(metric.std, 3), str(metric)
    (2.0, 0.816, '2.00000e+00 ± 8.2e-01')
    """

    name: str | None = None
    samples: list[float] = classes.field(factory=list)

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


class MetricsCollection(dict[str, Metric]):
    """Metrics by name, each made when it is first asked for.

    >>> found = MetricsCollection()
    >>> found["compute"].add_sample(0.5)
    >>> found["compute"].name, found["compute"].samples
    ('compute', [0.5])
    """

    def __missing__(self, key: str) -> Metric:
        return self.setdefault(key, Metric(key))  # threads that ask at once get the same


@classes.define
class Source:
    """The measurements of one variant of a program, and its metadata."""

    metadata: dict[str, Any] = classes.field(factory=dict)
    metrics: MetricsCollection = classes.field(factory=MetricsCollection)


class _Sources(dict[str, Source]):
    """Sources by key; the first one registers the dump at exit."""

    def __missing__(self, key: str) -> Source:
        if not self:
            _dump_at_exit()
        return self.setdefault(key, Source())


sources: dict[str, Source] = _Sources()
"""All sources of the process; another mapping may be put in its place."""


def _source(key: str) -> Source:
    """Return the source of a key; create it if it is missing."""
    if key not in sources:
        _dump_at_exit()
        sources.setdefault(key, Source())
    return sources[key]


# --- levels -----------------------------------------------------------------------------------


def get_current_level() -> int:
    """Return the level of measurement: one of the levels of this module."""
    return current().collect_metrics


def is_any_level_enabled() -> bool:
    """Return True if any metrics are collected."""
    return get_current_level() > DISABLED


def is_level_enabled(level: int) -> bool:
    """Return True if metrics of this level are collected."""
    return get_current_level() >= level


# --- the source of the running call -----------------------------------------------------------


class _Call:
    """A call in progress; its source is known only after it has run."""

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: str | None = None


_CALL: Final[ContextVar[_Call | None]] = ContextVar("fieldforge_metrics_call", default=None)


def begin_call() -> Token[_Call | None]:
    """Begin a call of unknown source; pass the result to `end_call`."""
    return _CALL.set(_Call())


def end_call(token: Token[_Call | None]) -> None:
    """End a call and restore the surrounding one."""
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
    return _source(key)


def get_source(key: str, *, assign_current: bool = True) -> Source:
    """Return the source of a key, created if missing, and make it that of the running call."""
    return set_current_source_key(key) if assign_current else _source(key)


def get_current_source() -> Source:
    """Return the source of the running call."""
    return _source(get_current_source_key())


def add_sample_to_current_source(metric_name: str, sample: float) -> None:
    """Add a sample to a metric of the source of the running call."""
    metric = get_current_source().metrics.setdefault(metric_name, Metric(metric_name))
    metric.add_sample(sample)


# --- output -----------------------------------------------------------------------------------


def dumps(metric_sources: Mapping[str, Source] | None = None) -> str:
    """Return a table: a row for each source, a column for each metric.

    >>> found = MetricsCollection(total=Metric("total", [0.5]))
    >>> print(dumps({"smooth<'cpu'>": Source(metrics=found)}))
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

    atexit.unregister(dump_at_exit)
    atexit.register(dump_at_exit)


def dump_at_exit() -> None:
    """Write the sources to the file that the settings name, as JSON if its name says so."""
    target = current().dump_metrics
    if target is not None and sources:
        (dump_json if target.suffix == ".json" else dump)(target)
