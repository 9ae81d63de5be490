"""What is not collected here."""

collect_ignore = ["copysign.py"]  # a script that a test runs in a process of its own
