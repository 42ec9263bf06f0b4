"""The transactions of a client, without I/O."""
