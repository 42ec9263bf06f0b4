"""Messages on their way from one node to another: what leaves, and what arrives, once."""
