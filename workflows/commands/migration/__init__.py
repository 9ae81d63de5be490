"""What of `gt4py` has a counterpart here: names for running code as it is, and for rewriting it."""
