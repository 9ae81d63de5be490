"""Workflows as values: a graph of stages, its text form, drawings and execution plans."""
