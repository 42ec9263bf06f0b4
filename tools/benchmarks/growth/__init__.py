"""Measures how time, memory and disk use grow with the number of nodes, clients and messages."""
