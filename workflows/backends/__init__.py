"""Backends: a workflow with a name, a target and an allocator."""
