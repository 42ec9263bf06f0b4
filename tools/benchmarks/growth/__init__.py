"""The growth of time and memory with the size of everything."""
