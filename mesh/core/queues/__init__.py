"""Queues: who has what of them, and what of that is on disk."""
