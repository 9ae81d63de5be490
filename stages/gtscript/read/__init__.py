"""Read the text of a stencil: from the tree of Python to the typed tree of GTScript."""
