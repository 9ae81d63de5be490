"""Programs as a model developer writes them; no rule of ours was made for one of these.

Each module has a program, its `FIELDS` and `OUTPUTS` by their dimensions, `SCALARS`, and `RANGES`
of numbers that are not between -1 and 1. Kernels by hand are in `kernels/untuned_<name>.cu`.
Where it has a `SPLIT`, those programs one after the other compute the same, with fields between.
"""
