"""The programs to measure, one file for each, listed in `CASES` of their module."""
