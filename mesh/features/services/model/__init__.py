"""Services: consumers of an address get messages one by one, and may reply."""
