"""Where `gt4py.next.instrumentation` stood: hooks and metrics."""
