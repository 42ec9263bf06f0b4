"""What is a queue, or a durable subscription, declared to be?"""
