"""The terms of the language: dimensions, domains, types, operations, definitions."""
