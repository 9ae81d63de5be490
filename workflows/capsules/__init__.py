"""Capsules: one call of a program in one file, replayed and bisected elsewhere."""
