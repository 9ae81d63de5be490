"""Where `gt4py.next.embedded` stood."""
