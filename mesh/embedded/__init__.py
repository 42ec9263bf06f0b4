"""A node in the program's own process, in a thread of its own, and a client connected to it."""
