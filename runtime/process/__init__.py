"""The process: settings, logging, hooks, metrics, errors, places in the source."""
