"""Where `gt4py.next.ffront` stood: decorators and builtins."""
