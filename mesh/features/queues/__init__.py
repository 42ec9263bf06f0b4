"""The feature that provides queues and durable subscriptions."""
