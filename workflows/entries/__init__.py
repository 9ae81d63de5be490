"""What users call: decorated programs and operators, and their compiled variants."""
