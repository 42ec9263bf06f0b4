"""A node in a thread of the program's own process, and a client that is connected to the node."""
