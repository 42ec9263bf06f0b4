"""The sans-io part of services in a client."""
