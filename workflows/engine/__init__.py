"""Run workflows: keys, jobs, events, executors and policies."""
