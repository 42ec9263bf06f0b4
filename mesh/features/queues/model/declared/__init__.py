"""Declarations of queues and durable subscriptions."""
