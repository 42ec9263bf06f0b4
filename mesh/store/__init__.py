"""Stores of envelopes and small tables: in SQLite or PostgreSQL, or in memory until the process ends."""
