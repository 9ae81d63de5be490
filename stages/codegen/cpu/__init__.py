"""Loops for a CPU: its passes and its C++."""
