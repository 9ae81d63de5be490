"""From a plan and a library to something that can be called."""
