"""A queue's part at one node: what waits in it, who is given it, and what becomes of it."""
