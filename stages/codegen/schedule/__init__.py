"""From dataflow to loops: which values become arrays, and the order of computation."""
