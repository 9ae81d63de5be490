"""Variants: what selects one, the table of a function's entries, and how missing ones are built."""
