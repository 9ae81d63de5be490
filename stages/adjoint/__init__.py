"""Derivatives: from a program to its tangent or its adjoint, both dataflow."""
