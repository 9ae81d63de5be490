"""Batches of builds: precompilation, lock files, MPI jobs, audits."""
