"""4D-Var: the initial height of a run on the sphere from a few noisy observations of it."""
