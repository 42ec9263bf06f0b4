"""A node in the program's own process, in a thread and a loop of its own, and a client that is in at once."""
