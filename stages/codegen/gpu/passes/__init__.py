"""Passes over the loops of a GPU."""
