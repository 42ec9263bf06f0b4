"""The calls of a client that serve addresses and send requests."""
