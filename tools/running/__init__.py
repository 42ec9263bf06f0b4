"""Starts and watches other programs, nodes above all, and reads their records."""
