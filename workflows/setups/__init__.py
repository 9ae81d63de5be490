"""Set up programs before a time loop: with sizes, constants and variants."""
