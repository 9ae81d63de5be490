"""What must hold for rows of the dataflow IR."""
