"""Calls of compiled code: argument plans, loading, limits, and why a call was refused."""
