"""Moves between the parts of a queue, and the state of the parts, without sockets or clocks."""
