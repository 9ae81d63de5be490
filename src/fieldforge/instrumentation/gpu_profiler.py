"""Counterpart of `gt4py.next.instrumentation.gpu_profiler`: ranges in the profiles of GPUs."""

from ..runtime.calls.gpu_profiling import (
    is_profiling_calls,
    profile,
    profile_calls,
    start_profiling_calls,
    stop_profiling_calls,
    time_range,
)

__all__ = [
    "is_profiling_calls",
    "profile",
    "profile_calls",
    "start_profiling_calls",
    "stop_profiling_calls",
    "time_range",
]
