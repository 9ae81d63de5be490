"""Storages: arrays of NumPy and CuPy in the layouts that backends of GTScript want."""
