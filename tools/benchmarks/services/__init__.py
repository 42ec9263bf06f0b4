"""The speed of requests and replies, here and with peers."""
