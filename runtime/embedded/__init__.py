"""Embedded execution: operators and programs run in CPython on fields, which is their meaning."""
