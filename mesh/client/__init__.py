"""The client library: connecting, publishing, subscribing, queues and services."""
