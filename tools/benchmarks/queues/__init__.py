"""Queues beside those of peers: who puts and who takes, and what is counted."""
