"""Run workflows: keys, jobs, events, executors, and what a build may do."""
