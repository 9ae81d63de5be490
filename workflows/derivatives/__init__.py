"""Derivatives of programs: their definitions, and the stages that make them."""
