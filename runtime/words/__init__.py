"""The names of GTScript: axes, field types and the words that stand in stencils."""
