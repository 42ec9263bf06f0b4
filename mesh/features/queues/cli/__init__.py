"""Commands for queues."""
