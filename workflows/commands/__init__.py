"""The command line `fieldforge`."""
