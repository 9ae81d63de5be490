"""From the syntax tree to dataflow IR, and the passes on it."""
