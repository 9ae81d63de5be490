"""Embedded execution: run operators and programs in CPython on fields; it defines their meaning."""
