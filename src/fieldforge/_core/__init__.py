"""Where `gt4py._core` stood."""
