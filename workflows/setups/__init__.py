"""What a model sets up before its time loop: programs with sizes, constants and variants."""
