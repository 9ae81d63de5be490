"""Moist air carried around the sphere: tracers, implicit vertical mixing, and condensation."""
