"""Where `gt4py.next.program_processors` stood."""
