"""Encode loops for the native core, which interprets them without a compiler."""
