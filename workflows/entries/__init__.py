"""Decorated programs and operators: their calls and their compiled variants."""
