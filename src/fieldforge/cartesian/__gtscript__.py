"""Stands in definitions alone, which are read as text: `from __gtscript__ import name`."""
