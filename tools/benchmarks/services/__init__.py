"""The speed of requests and replies, of Heronry and of its peers."""
