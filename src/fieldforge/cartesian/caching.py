"""Counterpart of `gt4py.cartesian.caching`."""

from ..workflows.cartesian.caching import (
    CachingStrategy,
    JITCachingStrategy,
    NoCachingStrategy,
    strategy_factory,
)

__all__ = ["CachingStrategy", "JITCachingStrategy", "NoCachingStrategy", "strategy_factory"]
