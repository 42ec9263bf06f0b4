"""Messages on their way to a master, until the last word."""
