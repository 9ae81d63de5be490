"""Tuning: measure which options make a program fastest, and keep them in a file."""
