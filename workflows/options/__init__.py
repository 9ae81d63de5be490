"""The options of backends: their schemas, the files that set them, and the precedence of files."""
