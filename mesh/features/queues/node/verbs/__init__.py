"""The requests that change queues and durable subscriptions."""
