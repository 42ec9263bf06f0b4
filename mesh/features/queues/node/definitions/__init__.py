"""The declarations of queues and durable subscriptions."""
