"""Pure steps from one artifact to the next."""
