"""The queue of one node, without sockets or clocks."""
