"""The ground: what the language is made of, and what runs compiled code."""
