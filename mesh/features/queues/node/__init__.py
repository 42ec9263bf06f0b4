"""Queues and durable subscriptions: definitions, messages, consumers, and moves between nodes."""
