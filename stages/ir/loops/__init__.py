"""The loop IR: a tree of loop nests, its text form and its rules."""
