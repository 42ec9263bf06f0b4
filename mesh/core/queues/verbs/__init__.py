"""What clients ask of queues and durable subscriptions that changes something."""
