"""Grids cut into the parts of ranks, and the exchange of their halos."""
