"""For each value, the points at which it is needed: boxes inferred from the outputs backwards."""
