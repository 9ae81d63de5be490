"""What a process begins with: its modules, the text of its errors, imports without collections."""
