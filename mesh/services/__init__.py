"""Services: whoever serves an address is given messages one by one, and may reply."""
