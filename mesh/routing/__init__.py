"""The path from a publisher to subscribers: forwarding to masters, log, retained values, and feeds."""
