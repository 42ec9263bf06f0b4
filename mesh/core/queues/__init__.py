"""The queues of a node: their messages, their consumers, and their state on disk."""
