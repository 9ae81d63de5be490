"""Views of programs, batches, lock files and recorded steps, for reports and notebooks."""
