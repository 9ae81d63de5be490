"""The C++ that every exported library has: errors, checks, threads and memory for temporaries."""
