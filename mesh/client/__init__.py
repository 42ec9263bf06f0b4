"""The asynchronous client: publishing, subscribing, sending, requests, services, queues and queries."""
