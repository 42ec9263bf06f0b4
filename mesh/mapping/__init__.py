"""Routing rules: the master of a message, and the next hop on the route to it."""
