"""Makers of GPUs: for each, the dialect of its kernels, flags, compilers, numbers and limits."""
