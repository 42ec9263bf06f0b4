"""Which queues and durable subscriptions are there?"""
