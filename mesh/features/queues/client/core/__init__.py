"""The sans-io part of queues in a client."""
