"""What was put, an envelope at a time: in memory, and on the disk alone."""
