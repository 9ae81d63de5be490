"""Programs to read, run and copy; each uses fieldforge as a model would."""
