"""Builds: one variant through its workflow, several at a time, and in the background."""
