"""The calls of a client for transactions."""
