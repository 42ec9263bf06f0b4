"""Exchange of topics, direct messages and requests with other sites."""
