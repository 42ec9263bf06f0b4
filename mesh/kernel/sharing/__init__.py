"""Rows that all nodes share, and weights."""
