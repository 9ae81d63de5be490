"""Counterpart of `gt4py.next.instrumentation.metrics`: levels, sources, collectors, output.

`sources` may be set and patched here: samples go to the mapping that stands there.
"""

import sys

from ..forwarding import Elsewhere, ForwardingModule
from ..runtime.process import metrics as _metrics
from ..runtime.process.collectors import BaseMetricsCollector, make_collector
from ..runtime.process.metrics import (
    ALL,
    DISABLED,
    INFO,
    MINIMAL,
    PERFORMANCE,
    VERBOSE,
    Metric,
    MetricsCollection,
    Source,
    add_sample_to_current_source,
    dump,
    dump_at_exit as _dump_metrics_at_exit,  # noqa: F401  (gt4py's name)
    dump_json,
    dumps,
    dumps_json,
    get_current_level,
    get_current_source,
    get_current_source_key,
    get_source,
    is_any_level_enabled,
    is_current_source_key_set,
    is_level_enabled,
    set_current_source_key,
)

__all__ = [
    "ALL",
    "COMPUTE_METRIC",
    "DISABLED",
    "INFO",
    "MINIMAL",
    "PERFORMANCE",
    "TOTAL_METRIC",
    "VERBOSE",
    "BaseMetricsCollector",
    "Metric",
    "MetricsCollection",
    "Source",
    "add_sample_to_current_source",
    "dump",
    "dump_json",
    "dumps",
    "dumps_json",
    "get_current_level",
    "get_current_source",
    "get_current_source_key",
    "get_source",
    "is_any_level_enabled",
    "is_current_source_key_set",
    "is_level_enabled",
    "make_collector",
    "set_current_source_key",
    "sources",  # noqa: F822  (forwarded, see below)
]

COMPUTE_METRIC = "compute"
TOTAL_METRIC = "total"

FORWARDED = {
    "sources": Elsewhere(
        lambda: _metrics.sources, lambda mapping: setattr(_metrics, "sources", mapping)
    )
}

sys.modules[__name__].__class__ = ForwardingModule
