"""Jobs that are consumed, done in a database and passed on, while clients, node and database are killed."""
