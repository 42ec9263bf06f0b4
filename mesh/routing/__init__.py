"""Subscriptions, routing and the queues between a publisher and its subscribers."""
