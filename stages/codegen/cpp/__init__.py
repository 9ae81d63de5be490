"""Write scheduled loops as C++ for a CPU."""
