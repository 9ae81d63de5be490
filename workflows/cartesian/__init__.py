"""GTScript's public surface: decorators, stencil objects, their builds and calls."""
