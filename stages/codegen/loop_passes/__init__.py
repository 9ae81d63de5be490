"""Passes over loop IR: tiling, streaming, prefetching, unswitching, the arena."""
