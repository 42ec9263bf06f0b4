"""The model of senders that deliver the rows of an outbox table."""
