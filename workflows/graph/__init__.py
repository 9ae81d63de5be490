"""Workflows as values: stages on the nodes of a graph, its text, pictures and plans."""
