"""The process of a node: sockets, store, clock."""
