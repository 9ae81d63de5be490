"""Counterpart of `gt4py.next.instrumentation`: hooks and metrics."""
