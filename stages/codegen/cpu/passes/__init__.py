"""Passes over the loops of a CPU."""
