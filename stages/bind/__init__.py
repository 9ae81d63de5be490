"""From the interface of generated code to an argument plan, without a compiler."""
