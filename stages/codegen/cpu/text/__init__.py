"""Write the loops of a CPU as C++."""
