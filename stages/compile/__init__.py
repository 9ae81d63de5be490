"""From source text to a shared library."""
