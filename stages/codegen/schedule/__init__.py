"""From dataflow to loops: what becomes an array, and in which order values are computed."""
