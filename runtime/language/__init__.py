"""What the language is made of: dimensions, domains, types, operations, definitions."""
