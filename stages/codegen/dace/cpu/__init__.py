"""Loops of maps on a CPU: threads, vector loops, strips."""
