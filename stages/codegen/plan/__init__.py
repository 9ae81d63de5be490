"""Predict the seconds of a tree of loops on a class of machines."""
