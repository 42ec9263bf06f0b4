"""The feature of queues and durable subscriptions."""
