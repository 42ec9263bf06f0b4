"""What does an envelope cost, and each message in it? Counted, not timed: the same on every machine."""
