"""Hand a program to DaCe as an SDFG and take its C++."""
