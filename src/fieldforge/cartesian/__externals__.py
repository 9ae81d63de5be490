"""Stands in definitions alone, which are read as text: `from __externals__ import name`."""
