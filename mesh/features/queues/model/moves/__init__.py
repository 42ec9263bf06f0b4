"""Moves between the local queues of one queue, and their states, without sockets or clocks."""
