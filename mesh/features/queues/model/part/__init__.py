"""The part of a queue at one node: its messages, their delivery and their outcome."""
