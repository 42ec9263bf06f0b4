"""The core of a node: its decision logic, without I/O.

Events go in, and effects come out.
"""
