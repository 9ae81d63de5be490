"""Modules with the names of other packages, written over the GPU runtime."""
