"""Numba, JAX and pystencils: programs as their users write them, in processes of their own."""
