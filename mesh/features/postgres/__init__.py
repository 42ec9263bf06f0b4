"""The feature of stores in PostgreSQL."""
