"""Code generation: from dataflow IR to a schedule and to source text for one target."""
