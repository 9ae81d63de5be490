"""Where `gt4py.next.type_system` stood: the types of the language, and how to read them."""
