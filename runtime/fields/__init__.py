"""Fields and neighbour tables: arrays with a domain, how they are made, indexed and shifted."""
