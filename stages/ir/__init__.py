"""The intermediate representations, their text forms and their rules."""
