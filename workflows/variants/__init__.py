"""Variants: their selection, the table of a function's entries, and builds of missing ones."""
