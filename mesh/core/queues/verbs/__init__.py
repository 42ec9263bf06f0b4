"""The client requests that change queues and durable subscriptions."""
