"""The process of a node: sockets, stores, clock."""
