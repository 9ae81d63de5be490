"""From the interface of generated code to an argument plan; nothing is compiled."""
