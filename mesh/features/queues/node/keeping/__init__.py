"""The queues of this node: their messages, their consumers, and their state on disk."""
