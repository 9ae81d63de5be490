"""Builds as HTML: the page of `fieldforge report`, and what notebooks show."""
