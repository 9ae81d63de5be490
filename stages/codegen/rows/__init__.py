"""Write the instructions of a loop nest as C++: names, addresses, operations."""
