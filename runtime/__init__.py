"""The ground floor: the terms of the language, fields, embedded execution and calls."""
