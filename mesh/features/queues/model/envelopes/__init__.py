"""The envelopes of a queue, in memory and on disk."""
