"""The names of other packages, over ours."""
