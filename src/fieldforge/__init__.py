"""Stencil programs written in Python, compiled to the speed of memory."""
