"""Backends under gt4py's names, by toolchain."""
