"""The cost of an envelope, and of each message in it: counted, not timed, so equal on every machine."""
