"""Unstructured meshes: files, and tables of neighbours made and checked."""
