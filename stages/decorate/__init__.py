"""From a plan and a library to a callable entry."""
