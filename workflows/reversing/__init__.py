"""Adjoints of recorded steps and of loops over them."""
