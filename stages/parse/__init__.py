"""From a Python function to a typed syntax tree."""
