"""gt4py, the peer: a worker process in an environment of its own, and its client."""
