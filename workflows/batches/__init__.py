"""Many builds at once: orders, precompilation, lock files, MPI jobs, audits."""
